import type { LedgerEntry } from '../../../../../shared/ledger/ledger.ts';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { CopyButton } from '../../../components/forms/CopyButton.tsx';
import classes from './EntryDetails.module.css';

/** All fields of an entry, and the result of recomputing its hash in this browser. */
export function EntryDetails({ entry, isSealed }: { entry: LedgerEntry; isSealed: boolean }) {
  const { seq, at, type, subject, digest, prev, hash } = entry;
  return (
    <div className={classes.details}>
      <dl className={classes.facts}>
        <dt>Recorded</dt>
        <dd>
          <TimeText at={at} show="exact" />
        </dd>
        <dt>Type</dt>
        <dd className="mono">{type}</dd>
        <dt>Subject</dt>
        <dd className="mono">{subject}</dd>
        <DigestFact name="Digest" what="of the recorded content as canonical JSON" value={digest} />
        <DigestFact name="Prev" what="the hash of the previous entry" value={prev} />
        <DigestFact name="Hash" what="of the rest of this entry as canonical JSON" value={hash} />
      </dl>
      <p className={isSealed ? classes.good : classes.bad}>
        {isSealed
          ? 'Recomputed in this browser: the hash matches.'
          : 'Recomputed in this browser: the hash does not match. The entry was altered.'}
      </p>
      <p className="small">
        <a
          href={`/api/ledger/proof?seq=${seq}&format=tlog-proof`}
          download={`ledger-entry-${seq}.tlog-proof`}
        >
          Proof file
        </a>{' '}
        <span className="muted">
          proves that this entry is in the ledger. It contains the node’s signature and can be verified
          without the node.
        </span>
      </p>
    </div>
  );
}

function DigestFact({ name, what, value }: { name: string; what: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <span className={`mono ${classes.digest}`}>{value}</span>
        <CopyButton text={value} what={name.toLowerCase()} />
        <span className="muted small">{what}</span>
      </dd>
    </>
  );
}
