import { Button, Group, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { SourceChange, WatchedSource } from '../../../../shared/source.ts';
import { call } from '../../api/client.ts';
import { answerKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/ErrorNote.tsx';
import classes from './AddSource.module.css';
import { SourceFields } from './SourceFields.tsx';
import { changeOf, type DraftErrors, draftOf, errorsOf } from './sourceForm.ts';

export interface EditSourceProps {
  source: WatchedSource;
  opened: boolean;
  onClose: () => void;
}

/** Edits what the owner says of a source. Its address is its identity and stays. */
export function EditSource({ source, opened, onClose }: EditSourceProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Edit the source"
      size="lg"
      closeOnClickOutside={false}
      centered={false}
    >
      <EditSourceForm source={source} onClose={onClose} />
    </Modal>
  );
}

function EditSourceForm({ source, onClose }: Omit<EditSourceProps, 'opened'>) {
  const [draft, setDraft] = useState(() => draftOf(source));
  const [errors, setErrors] = useState<DraftErrors>({});
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: (change: SourceChange) => call('changeSource', { params: { id: source.id }, body: change }),
    onSuccess: async () => {
      await Promise.all(
        (['listWatchedSources', 'readWatchedSource', 'listSources'] as const).map((name) =>
          client.invalidateQueries({ queryKey: answerKey(name) }),
        ),
      );
      onClose();
    },
    onError: (error) => setErrors(errorsOf(error)),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = changeOf(draft);
    if ('errors' in parsed) return setErrors(parsed.errors);
    setErrors({});
    save.mutate(parsed.value);
  };
  return (
    <form onSubmit={submit} className={classes.form} noValidate>
      <p className="muted small wrap-anywhere">{source.url}</p>
      <SourceFields
        draft={draft}
        errors={errors}
        onChange={(change) => setDraft((before) => ({ ...before, ...change }))}
      />
      {save.isError && Object.keys(errors).length === 0 && <ErrorNote error={save.error} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={save.isPending}>
          Save
        </Button>
      </Group>
    </form>
  );
}
