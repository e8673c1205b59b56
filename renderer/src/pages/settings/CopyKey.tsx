import { Button, Group, Modal, PasswordInput, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Copy, copyKeySchema } from '../../../../shared/node/copy.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';

interface CopyKeyProps {
  copy: Copy;
  place: string;
  onClose: () => void;
}

/** Keeps the key of the archive in a copy, encrypted with a passphrase, or removes it from there. */
export function CopyKey({ copy, place, onClose }: CopyKeyProps) {
  const [passphrase, setPassphrase] = useState('');
  const [again, setAgain] = useState('');
  const { keep, remove } = useKeyInCopy(copy, onClose);
  const isValid = copyKeySchema.safeParse({ passphrase }).success;
  return (
    <Modal opened onClose={onClose} title="The key in this copy" size="md">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isValid && again === passphrase) keep.mutate(passphrase);
        }}
      >
        <Stack gap="md">
          <p>
            With the key, an archive restored from {place} can continue as the same archive. It is encrypted
            with a passphrase, which is not stored: without it, the key in the copy is useless. Whoever can
            read the copy can try passphrases, so choose a long one.
          </p>
          <PasswordInput
            label="Passphrase"
            description="At least 12 characters."
            autoComplete="new-password"
            data-autofocus
            value={passphrase}
            onChange={(event) => setPassphrase(event.currentTarget.value)}
          />
          <PasswordInput
            label="Repeat the passphrase"
            autoComplete="new-password"
            value={again}
            error={again !== '' && again !== passphrase && 'The two passphrases differ.'}
            onChange={(event) => setAgain(event.currentTarget.value)}
          />
          {(keep.error ?? remove.error) && <ErrorNote error={keep.error ?? remove.error} />}
          <Group justify="flex-end" gap="sm">
            {copy.has_key && (
              <Button variant="subtle" color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
                Remove the key from the copy
              </Button>
            )}
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={keep.isPending} disabled={!isValid || again !== passphrase}>
              Keep the key there
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function useKeyInCopy({ id }: Copy, onDone: () => void) {
  const queries = useQueryClient();
  const params = { id };
  const onSuccess = async () => {
    onDone();
    await queries.invalidateQueries({ queryKey: callKey('listCopies') });
  };
  const keep = useMutation({
    mutationFn: (passphrase: string) => call('keepKeyInCopy', { params, body: { passphrase } }),
    onSuccess,
  });
  const remove = useMutation({ mutationFn: () => call('removeKeyFromCopy', { params }), onSuccess });
  return { keep, remove };
}
