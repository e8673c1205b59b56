import { Button, FileButton } from '@mantine/core';
import { IconFileUpload } from '@tabler/icons-react';
import { type DragEvent, useRef, useState } from 'react';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf, formatBytes, formatCount } from '../../format/size.ts';
import { useSession } from '../../state/session.ts';
import classes from './CheckpointCheck.module.css';
import { checkCheckpoint } from './checkCheckpoint.ts';
import {
  type CheckpointComparison,
  MAX_CHECKPOINT_BYTES,
  parseCheckpoint,
  type SavedCheckpoint,
} from './checkpointFile.ts';
import { Finding } from './Findings.tsx';

type Check =
  | { state: 'running'; name: string }
  | { state: 'done'; saved: SavedCheckpoint; found: CheckpointComparison }
  | { state: 'failed'; error: unknown; retry?: () => void };

/** Checks a saved checkpoint against the ledger. Everything is computed in this browser. */
export function CheckpointCheck() {
  const node = useSession((state) => state.session?.node) ?? '';
  const [check, setCheck] = useState<Check>();
  const [isOver, setIsOver] = useState(false);
  const forgetFile = useRef<() => void>(null);
  const hold = async (saved: SavedCheckpoint, name: string) => {
    setCheck({ state: 'running', name });
    try {
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
    await hold(parsed.head, file.name);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    void read(event.dataTransfer.files[0]);
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- dropping is an alternative to the button
    <section
      className={classes.check}
      aria-label="Check a checkpoint"
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
          accept="application/json,.json"
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
        {check?.state === 'done' && <Comparison {...check} />}
      </div>
    </section>
  );
}

function Comparison({ saved, found }: { saved: SavedCheckpoint; found: CheckpointComparison }) {
  const { differences, since, proven, otherNode, head } = found;
  const ok = differences.length === 0;
  return (
    <Finding
      ok={ok}
      title={ok ? 'The ledger has not been rewritten.' : 'The ledger does not match the checkpoint.'}
    >
      <p>
        Saved <TimeText at={saved.saved_at} /> with {countOf(saved.seq, 'entry', 'entries')}; the ledger now
        has {formatCount(head.seq)}
        {ok && since > 0 && `, ${formatCount(since)} of them added since`}.
      </p>
      {ok && proven && (
        <p>
          Entry {formatCount(saved.seq)} still has the saved hash. The node’s proof, verified in this browser,
          connects the saved root with the current root: all {formatCount(saved.seq)} entries are unchanged.
        </p>
      )}
      {otherNode && (
        <p>
          The checkpoint was saved from a node named <span className="mono">{saved.node}</span>. This node has
          a different name. Check that this is the right file.
        </p>
      )}
      {!ok && (
        <dl className={classes.differences}>
          {differences.map(({ what, saved: before, now }) => (
            <div key={what}>
              <dt>{what}</dt>
              <dd>
                <span className="muted">saved</span> <span className="mono">{before}</span>
              </dd>
              <dd>
                <span className="muted">now</span> <span className="mono">{now}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Finding>
  );
}
