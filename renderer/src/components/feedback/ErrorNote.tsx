import { Button } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { ApiProblem, NodeUnreachable } from '../../api/client.ts';
import { useDisplaySettings } from '../../state/displaySettings.ts';
import classes from './ErrorNote.module.css';
import { describeReachedLimit } from './reachedLimit.ts';

export interface ErrorNoteProps {
  error: unknown;
  onRetry?: () => void;
}

/** An error message at the place of the error, with its code and a Try again button. */
export function ErrorNote({ error, onRetry }: ErrorNoteProps) {
  const { sentence, code } = describeError(error);
  return (
    <div role="alert" className={classes.note}>
      <IconAlertTriangle size={20} aria-hidden className={classes.icon} />
      <div>
        <p>{sentence}</p>
        {code && <p className={classes.code}>{code}</p>}
      </div>
      {onRetry && (
        <Button variant="default" size="xs" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** The message for the person and, if the node sent one, the error code. */
export function describeError(error: unknown): { sentence: string; code?: string } {
  if (error instanceof ApiProblem) {
    const { zone } = useDisplaySettings.getState();
    const limit = describeReachedLimit(error.document, zone, Date.now());
    return { sentence: limit ?? error.message, code: error.document.code };
  }
  if (error instanceof NodeUnreachable) return { sentence: error.message, code: 'node_unreachable' };
  if (error instanceof Error && error.message) return { sentence: error.message };
  return { sentence: 'This page failed. Reload it.' };
}
