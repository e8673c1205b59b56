import { Button, Group, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { ErrorNote } from '../feedback/ErrorNote.tsx';

export interface RemoveDialogProps {
  title: string;
  /** The label of the button that removes. */
  submit: string;
  /** What is removed, and what stays. */
  children: ReactNode;
  removal: { mutate: () => void; isPending: boolean; error: Error | null };
  onClose: () => void;
}

/** Asks before something is removed. */
export function RemoveDialog({ title, submit, children, removal, onClose }: RemoveDialogProps) {
  return (
    <Modal opened onClose={onClose} title={title} size="md">
      <p>{children}</p>
      {removal.error && <ErrorNote error={removal.error} />}
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button loading={removal.isPending} onClick={() => removal.mutate()}>
          {submit}
        </Button>
      </Group>
    </Modal>
  );
}
