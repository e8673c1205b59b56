import { Button, FileButton } from '@mantine/core';
import { IconFileUpload } from '@tabler/icons-react';
import { type DragEvent, useRef, useState } from 'react';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { formatBytes } from '../../../format/size.ts';
import { readSession } from '../../../state/session.ts';
import classes from './CheckpointCheck.module.css';
import { CheckpointFindings } from './CheckpointFindings.tsx';
import { checkCheckpoint } from './checkCheckpoint.ts';
import {
  CHECKPOINT_FILE_TYPES,
  MAX_CHECKPOINT_BYTES,
  parseCheckpoint,
  type SavedCheckpoint,
} from './checkpointFile.ts';
import type { CheckpointComparison } from './compareCheckpoint.ts';

type Check =
  | { state: 'running'; name: string }
  | { state: 'done'; saved: SavedCheckpoint; found: CheckpointComparison }
  | { state: 'failed'; error: unknown; retry?: () => void };

/** The last check, and a function that checks the checkpoint in a file. */
function useCheck() {
  const [check, setCheck] = useState<Check>();
  const hold = async (saved: SavedCheckpoint, name: string) => {
    setCheck({ state: 'running', name });
    try {
      const { node } = await readSession();
      setCheck({ state: 'done', saved, found: await checkCheckpoint(saved, node) });
    } catch (error) {
      setCheck({ state: 'failed', error, retry: () => void hold(saved, name) });
    }
  };
  const read = async (file: File | null | undefined) => {
    if (!file) return;
    if (file.size > MAX_CHECKPOINT_BYTES) {
      return setCheck({
        state: 'failed',
        error: new Error(
          `${file.name} is ${formatBytes(file.size)}. A checkpoint is only a few hundred bytes.`,
        ),
      });
    }
    const parsed = parseCheckpoint(await file.text());
    if ('refused' in parsed) return setCheck({ state: 'failed', error: new Error(parsed.refused) });
    await hold(parsed.saved, file.name);
  };
  return { check, read };
}

/** Checks a saved checkpoint against the ledger. Everything is computed in this browser. */
export function CheckpointCheck() {
  const { check, read } = useCheck();
  const [isOver, setIsOver] = useState(false);
  const forgetFile = useRef<() => void>(null);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    void read(event.dataTransfer.files[0]);
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- dropping is an alternative to the button
    <section
      className={classes.check}
      aria-label="Check a saved checkpoint"
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={drop}
    >
      <div className={classes.choose}>
        <FileButton
          resetRef={forgetFile}
          onChange={(file) => {
            void read(file);
            // Resets the input, so that the same file can be chosen again.
            forgetFile.current?.();
          }}
          accept={CHECKPOINT_FILE_TYPES}
        >
          {(props) => (
            <Button {...props} variant="default" leftSection={<IconFileUpload size={16} aria-hidden />}>
              Choose checkpoint
            </Button>
          )}
        </FileButton>
        <span className="muted">or drop the file here. It is read in this browser and not uploaded.</span>
      </div>
      <div aria-live="polite">
        {check?.state === 'running' && <p className="muted">Comparing {check.name} with the ledger…</p>}
        {check?.state === 'failed' && <ErrorNote error={check.error} onRetry={check.retry} />}
        {check?.state === 'done' && <CheckpointFindings saved={check.saved} found={check.found} />}
      </div>
    </section>
  );
}
