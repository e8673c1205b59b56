import { Button, Group } from '@mantine/core';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { useDraft } from '../draft.ts';
import classes from '../PublishPanel.module.css';
import { useDraftSaving } from './draftSaving.ts';

/** Says where the draft is saved, and why it is not, unless that is shown already as the failure of publishing. */
export function SaveState({ isFailureShown }: { isFailureShown: boolean }) {
  const { saving, start, flush, resolve } = useDraftSaving();
  const hasDraft = useDraft(({ saved }) => saved !== undefined);
  const isUnsaved = useDraft((state) => state.isUnsaved);
  switch (saving.state) {
    case 'local':
      return (
        <p className={classes.quiet}>
          {isUnsaved
            ? 'This browser cannot save the draft because its storage is full or disabled. Publish before you leave.'
            : 'The draft is saved in this browser as you type.'}
        </p>
      );
    case 'opening':
      return <p className={classes.quiet}>Opening the draft…</p>;
    case 'unopened':
      return <ErrorNote error={saving.error} onRetry={() => void start()} />;
    case 'failed':
      if (isFailureShown) return null;
      // A failure is shown here again.
      return <ErrorNote error={saving.error} onRetry={() => void flush().catch(() => {})} />;
    case 'changed elsewhere':
      return (
        <div role="alert" className={classes.part}>
          <p>This draft was changed in another window. Your last changes here are not saved.</p>
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={() => void resolve('theirs')}>
              Show the other version
            </Button>
            <Button size="xs" variant="default" onClick={() => void resolve('mine')}>
              Keep this version
            </Button>
          </Group>
        </div>
      );
    case 'saving':
      return <p className={classes.quiet}>Saving the draft…</p>;
    case 'saved':
      return (
        <p className={classes.quiet}>
          {hasDraft ? 'The draft is saved on this node.' : 'The draft is saved on this node as you type.'}
        </p>
      );
  }
}
