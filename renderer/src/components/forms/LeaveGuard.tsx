import { Button, Group, Modal } from '@mantine/core';
import { useEffect } from 'react';
import { useBlocker } from 'react-router';
import { desktop } from '../../desktop.ts';

export interface LeaveGuardProps {
  /** Whether the form has edits that leaving would lose. */
  isDirty: boolean;
  isSaving: boolean;
  /** Saves the edits. Resolves with false if they were refused; the form then says why. */
  onSave: () => Promise<boolean>;
}

/** Asks before a page with unsaved edits is left, in the interface or by closing the tab. */
export function LeaveGuard({ isDirty, isSaving, onSave }: LeaveGuardProps) {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => isDirty && currentLocation.pathname !== nextLocation.pathname,
  );
  useAskBeforeUnload(isDirty);
  const isAsking = blocker.state === 'blocked';
  const save = async () => {
    const isSaved = await onSave();
    if (isSaved) blocker.proceed?.();
    else blocker.reset?.();
  };
  return (
    <Modal opened={isAsking} onClose={() => blocker.reset?.()} title="Unsaved changes">
      <p>Save the changes on this page before you leave it?</p>
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="subtle" onClick={() => blocker.reset?.()}>
          Keep editing
        </Button>
        <Button variant="default" onClick={() => blocker.proceed?.()}>
          Discard
        </Button>
        <Button onClick={() => void save()} loading={isSaving} data-autofocus>
          Save
        </Button>
      </Group>
    </Modal>
  );
}

/** Not in the desktop window: Electron would refuse to close it without a word. */
function useAskBeforeUnload(isDirty: boolean): void {
  useEffect(() => {
    if (!isDirty || desktop()) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isDirty]);
}
