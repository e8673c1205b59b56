import { Link } from 'react-router';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { countOf, formatCount } from '../../../format/size.ts';
import { Finding } from '../Findings.tsx';
import classes from './CheckpointCheck.module.css';
import type { SavedCheckpoint } from './checkpointFile.ts';
import type { CheckpointComparison, Signer } from './compareCheckpoint.ts';

/** The result of checking a saved checkpoint. */
export function CheckpointFindings({
  saved,
  found,
}: {
  saved: SavedCheckpoint;
  found: CheckpointComparison;
}) {
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

function Sizes({ saved, found }: { saved: SavedCheckpoint; found: CheckpointComparison }) {
  const { differences, since, proven, head } = found;
  const ok = differences.length === 0;
  return (
    <>
      <p>
        Saved {saved.savedAt && <TimeText at={saved.savedAt} />} with {countOf(saved.seq, 'entry', 'entries')}
        ; the ledger now has {formatCount(head.seq)}
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
        The signature is valid. It is by a former key of this node, which{' '}
        <Link to={`/ledger#${signer.replacedBy}`}>entry {formatCount(signer.replacedBy)}</Link> replaced.
      </>
    );
  }
  if (signer.is === 'unsigned')
    return 'The file is in an older format without a signature. Save a checkpoint now: it is signed, and other programs can check it too.';
  return 'The signature is valid. It is by the key of this node.';
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
          It names this node, but none of the keys that this node had signed it. Either the file is from a
          different archive, or this archive was replaced and got a new key.
        </p>
      )}
    </Finding>
  );
}
