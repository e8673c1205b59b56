import { formatCount } from '../../../format/size.ts';
import type { ObjectCheck } from '../../../state/objectChecks.ts';
import { ErrorNote } from '../../feedback/ErrorNote.tsx';
import { JobBar } from '../../feedback/JobBar.tsx';
import classes from './ObjectCard.module.css';

/** The state of hashing an object in this browser, and its result. */
export function CheckResult({ sha256, check }: { sha256: string; check: ObjectCheck }) {
  if (check.state === 'failed') return <ErrorNote error={check.error} />;
  if (check.state === 'running') {
    const { done, total, cancel } = check;
    return (
      <JobBar
        title="Hashing in this browser"
        done={done}
        total={total}
        unit="bytes"
        rate={0}
        onCancel={cancel}
      />
    );
  }
  if (check.verified.ok) {
    return (
      <p className={classes.good}>
        Verified: {formatCount(check.bytes)} bytes were downloaded and hashed in this browser. Their SHA-256
        matches the digest above.
      </p>
    );
  }
  return (
    <div className={classes.bad} role="alert">
      <p>
        Does not match: {formatCount(check.bytes)} bytes were downloaded and hashed in this browser. Their
        SHA-256 differs from the digest. The stored object is damaged, or this node sent other bytes.
      </p>
      <p className="mono wrap-anywhere">expected {sha256}</p>
      <p className="mono wrap-anywhere">found {check.actual}</p>
    </div>
  );
}
