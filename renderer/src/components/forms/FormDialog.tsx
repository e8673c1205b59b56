import { Button, Group, Modal, type ModalProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, useCallback, useState } from 'react';

/** What the form in a dialog needs from it. */
export interface FormDialogControls {
  /** Closes the dialog after the form was submitted. */
  onDone: () => void;
  /** Closes the dialog, but asks first if that would lose edits. */
  onCancel: () => void;
  /** Informs the dialog whether the form has edits. */
  onDirty: (isDirty: boolean) => void;
}

export interface FormDialogProps extends Pick<ModalProps, 'opened' | 'title' | 'size'> {
  onClose: () => void;
  children: (controls: FormDialogControls) => ReactNode;
}

/** A dialog with a form. It does not lose edits without asking. */
export function FormDialog({ opened, onClose, title, size, children }: FormDialogProps) {
  const [isDirty, setIsDirty] = useState(false);
  const [isAsking, asking] = useDisclosure(false);
  const onDirty = useCallback((next: boolean) => setIsDirty(next), []);
  const close = () => {
    setIsDirty(false);
    asking.close();
    onClose();
  };
  const closeOrAsk = isDirty ? asking.open : close;
  return (
    <>
      <Modal
        opened={opened}
        onClose={closeOrAsk}
        title={title}
        size={size}
        closeOnClickOutside={!isDirty}
        centered={false}
      >
        {children({ onDone: close, onCancel: closeOrAsk, onDirty })}
      </Modal>
      {/* Mounted when it is asked: a mounted dialog would take the same Escape as its answer. */}
      {isAsking && <Question onKeep={asking.close} onDiscard={close} />}
    </>
  );
}

function Question({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) {
  return (
    <Modal opened onClose={onKeep} title="Discard changes?" size="sm">
      <p>The changes in this dialog have not been saved.</p>
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={onDiscard}>
          Discard
        </Button>
        <Button onClick={onKeep} data-autofocus>
          Keep editing
        </Button>
      </Group>
    </Modal>
  );
}
