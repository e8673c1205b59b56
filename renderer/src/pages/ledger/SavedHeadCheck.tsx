import { Button, FileButton } from '@mantine/core';
import { IconFileUpload } from '@tabler/icons-react';
import { type DragEvent, useRef, useState } from 'react';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf, formatBytes, formatCount } from '../../format/size.ts';
import { useSession } from '../../state/session.ts';
import { checkSavedHead } from './checkSavedHead.ts';
import { Finding } from './Findings.tsx';
import classes from './SavedHeadCheck.module.css';
import { type HeadComparison, MAX_HEAD_FILE_BYTES, parseSavedHead, type SavedHead } from './savedHead.ts';

type Check =
  | { state: 'running'; name: string }
  | { state: 'done'; saved: SavedHead; found: HeadComparison }
  | { state: 'failed'; error: unknown; retry?: () => void };

/** Takes a head that was saved earlier and tells whether anything was rewritten since; all computed here. */
export function SavedHeadCheck() {
  const node = useSession((state) => state.session?.node) ?? '';
  const [check, setCheck] = useState<Check>();
  const [isOver, setIsOver] = useState(false);
  const forgetFile = useRef<() => void>(null);
  const hold = async (saved: SavedHead, name: string) => {
    setCheck({ state: 'running', name });
    try {
      setCheck({ state: 'done', saved, found: await checkSavedHead(saved, node) });
    } catch (error) {
      setCheck({ state: 'failed', error, retry: () => void hold(saved, name) });
    }
  };
  const read = async (file: File | null | undefined) => {
    if (!file) return;
    if (file.size > MAX_HEAD_FILE_BYTES) {
      return setCheck({
        state: 'failed',
        error: new Error(
          `${file.name} has ${formatBytes(file.size)} and is no saved head: those are a few hundred bytes.`,
        ),
      });
    }
    const parsed = parseSavedHead(await file.text());
    if ('refused' in parsed) return setCheck({ state: 'failed', error: new Error(parsed.refused) });
    await hold(parsed.head, file.name);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    void read(event.dataTransfer.files[0]);
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- dropping is a second way beside the button
    <section
      className={classes.check}
      aria-label="Check a saved head"
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
            // The same file may be chosen again, to be checked anew.
            forgetFile.current?.();
          }}
          accept="application/json,.json"
        >
          {(props) => (
            <Button {...props} variant="default" leftSection={<IconFileUpload size={16} aria-hidden />}>
              Choose the saved head
            </Button>
          )}
        </FileButton>
        <span className="muted">or drop the file here. It is read in this browser and sent nowhere.</span>
      </div>
      <div aria-live="polite">
        {check?.state === 'running' && <p className="muted">Holding {check.name} against the ledger…</p>}
        {check?.state === 'failed' && <ErrorNote error={check.error} onRetry={check.retry} />}
        {check?.state === 'done' && <Comparison {...check} />}
      </div>
    </section>
  );
}

function Comparison({ saved, found }: { saved: SavedHead; found: HeadComparison }) {
  const { differences, since, proven, otherNode, head } = found;
  const ok = differences.length === 0;
  return (
    <Finding
      ok={ok}
      title={ok ? 'Nothing was rewritten since.' : 'The ledger is not the one whose head was saved.'}
    >
      <p>
        Saved <TimeText at={saved.saved_at} /> with {countOf(saved.seq, 'entry', 'entries')}; the ledger has{' '}
        {formatCount(head.seq)} now
        {ok && since > 0 && `, ${formatCount(since)} of which came since`}.
      </p>
      {ok && proven && (
        <p>
          Entry {formatCount(saved.seq)} still bears the saved hash, and the node’s proof, checked in this
          browser, leads from the saved root to the root of now: all {formatCount(saved.seq)} entries stand as
          they were.
        </p>
      )}
      {otherNode && (
        <p>
          The file was saved from a node named <span className="mono">{saved.node}</span>, which is not this
          node’s name: is it the right file?
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
