import type { LedgerEntry } from '../../../../shared/ledger.ts';
import { TimeText } from '../../components/data/TimeText.tsx';
import { CopyButton } from '../../components/forms/CopyButton.tsx';
import classes from './EntryDetails.module.css';

/** The whole of one entry, and what this browser found when it recomputed its hash. */
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
        <DigestFact name="Digest" what="of what was recorded, as canonical JSON" value={digest} />
        <DigestFact name="Prev" what="the hash of the entry before" value={prev} />
        <DigestFact name="Hash" what="of all else in this entry, as canonical JSON" value={hash} />
      </dl>
      <p className={isSealed ? classes.good : classes.bad}>
        {isSealed
          ? 'Recomputed in this browser from the entry’s content: its hash holds.'
          : 'Recomputed in this browser from the entry’s content: its hash does not hold. The entry was altered.'}
      </p>
      <p className="small">
        <a
          href={`/api/ledger/proof?seq=${seq}&format=tlog-proof`}
          download={`ledger-entry-${seq}.tlog-proof`}
        >
          Proof file
        </a>{' '}
        <span className="muted">
          shows anyone that this entry is in the ledger, with the node’s signature and no node needed.
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
