import { FileButton } from '@mantine/core';
import { IconFileUpload } from '@tabler/icons-react';
import { type DragEvent, useRef, useState } from 'react';
import { Link } from 'react-router';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { IconButton } from '../../../components/forms/buttons.tsx';
import { countOf, formatBytes, formatCount } from '../../../format.ts';
import { readSession } from '../../../state/session.ts';
import classes from '../ledger.module.css';
import { Finding } from '../VerifyPanel.tsx';
import {
  CHECKPOINT_FILE_TYPES,
  type CheckpointComparison,
  checkCheckpoint,
  MAX_CHECKPOINT_BYTES,
  parseCheckpoint,
  type SavedCheckpoint,
  type Signer,
} from './compareCheckpoint.ts';

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
      className={`${classes.check} mb-5 stack gap-3`}
      aria-label="Check a saved checkpoint"
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={drop}
    >
      <div className="cluster gap-4">
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
            <IconButton icon={IconFileUpload} {...props}>
              Choose checkpoint
            </IconButton>
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

/** The result of checking a saved checkpoint. */
function CheckpointFindings({ saved, found }: { saved: SavedCheckpoint; found: CheckpointComparison }) {
  const { signer, differences } = found;
  if (signer.is === 'altered' || signer.is === 'unknown')
    return <NotSigned saved={saved} isAltered={signer.is === 'altered'} otherNode={found.otherNode} />;
  const ok = differences.length === 0;
  return (
    <Finding
      ok={ok}
      title={ok ? 'The ledger has not been rewritten.' : 'The ledger does not match the checkpoint.'}
    >
      <Sizes saved={saved} found={found} />
      <p>
        <SignerText signer={signer} />
      </p>
      {found.otherNode && (
        <p>
          The file was saved from a node named <span className="mono">{saved.origin}</span>. This node has a
          different name. Check that this is the right file.
        </p>
      )}
      {!ok && (
        <dl className={`${classes.differences} stack gap-3`}>
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

function Sizes({ saved, found }: { saved: SavedCheckpoint; found: CheckpointComparison }) {
  const { differences, since, proven, head } = found;
  const ok = differences.length === 0;
  return (
    <>
      <p>
        Saved with {countOf(saved.seq, 'entry', 'entries')}; the ledger now has {formatCount(head.seq)}
        {ok && since > 0 && `, ${formatCount(since)} of them added since`}.
      </p>
      {ok && proven && (
        <p>
          The node’s proof, verified in this browser, connects the saved root with the current root: all{' '}
          {formatCount(saved.seq)} entries are unchanged.
        </p>
      )}
    </>
  );
}

function SignerText({ signer }: { signer: Signer }) {
  if (signer.is === 'former') {
    return (
      <>
        The signature is valid. It was made with a former key of this node, which{' '}
        <Link to={`/ledger#${signer.replacedBy}`}>entry {formatCount(signer.replacedBy)}</Link> replaced.
      </>
    );
  }
  return 'The signature is valid. It was made with the key of this node.';
}

function NotSigned({
  saved,
  isAltered,
  otherNode,
}: {
  saved: SavedCheckpoint;
  isAltered: boolean;
  otherNode: boolean;
}) {
  if (isAltered) {
    return (
      <Finding ok={false} title="The checkpoint was altered: its signature does not match.">
        <p>The file is not what this node signed, so it says nothing about the ledger.</p>
      </Finding>
    );
  }
  return (
    <Finding
      ok={false}
      title={
        otherNode ? 'The checkpoint is from another node.' : 'This node’s key did not sign the checkpoint.'
      }
    >
      {otherNode ? (
        <p>
          It was signed by <span className="mono wrap-anywhere">{saved.origin}</span>. Open the ledger of that
          node to check it.
        </p>
      ) : (
        <p>
          It names this node, but none of this node’s current or former keys signed it. Either the file is
          from a different archive, or this archive was replaced and got a new key.
        </p>
      )}
    </Finding>
  );
}
