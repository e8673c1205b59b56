import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { LedgerProblem, LedgerVerification } from '../../../../shared/ledger/ledger.ts';
import { DataTable } from '../../components/data/DataTable.tsx';
import { DigestChip, TimeText } from '../../components/data/Values.tsx';
import { countOf, formatDuration } from '../../format.ts';
import type { Recomputed } from './chain.ts';
import classes from './ledger.module.css';

/** The result of a check: an icon, a colour and a sentence, with details below. */
export function Finding({ ok, title, children }: { ok: boolean; title: ReactNode; children?: ReactNode }) {
  const Icon = ok ? IconCircleCheck : IconAlertTriangle;
  return (
    <div className={`${classes.finding} card card-bad stack gap-3`} data-ok={ok}>
      <Icon size={20} aria-hidden className={classes.icon} />
      <div className="stack gap-2">
        <p className="strong">{title}</p>
        {children}
      </div>
    </div>
  );
}

/** The result of a verification by the node. */
export function VerificationFindings({ result }: { result: LedgerVerification }) {
  const { ok, size, head, root, checked_at, duration_ms, problems, sealed } = result;
  const entries = countOf(size, 'entry', 'entries');
  return (
    <Finding
      ok={ok}
      title={
        ok
          ? `${entries} verified. No faults found.`
          : `${countOf(problems.length, 'fault')} found in ${entries}.`
      }
    >
      <p className="small muted">
        <TimeText at={checked_at} />, in {formatDuration(duration_ms / 1000)}. Hash of the last entry:{' '}
        <DigestChip digest={head} label="hash of the last entry" />, root:{' '}
        <DigestChip digest={root} label="root" />
      </p>
      {sealed > 0 && (
        <p className="small muted">
          {countOf(sealed, 'finding is', 'findings are')} sealed and cannot be read by this node: only the
          commitments were checked.
        </p>
      )}
      {problems.length > 0 && (
        <FaultTable
          faults={problems.map(({ seq, problem, subject, expected, actual }) => ({
            seq,
            subject,
            fault: PROBLEM_TEXTS[problem],
            expected,
            actual,
          }))}
        />
      )}
    </Finding>
  );
}

/** The result of recomputing the chain in this browser, compared with the node's head. */
export function RecomputedFindings({ result, at }: { result: Recomputed; at: string }) {
  const { size, hash, root, faults, milliseconds } = result;
  const entries = countOf(size, 'entry', 'entries');
  return (
    <Finding
      ok={faults.length === 0}
      title={
        faults.length === 0
          ? `${entries} recomputed in this browser. No faults found.`
          : `${countOf(faults.length, 'fault')} found in ${entries}.`
      }
    >
      <p className="small muted">
        <TimeText at={at} />, in {formatDuration(milliseconds / 1000)}. Hash of the last entry:{' '}
        <DigestChip digest={hash} label="recomputed hash of the last entry" />, root:{' '}
        <DigestChip digest={root} label="recomputed root" />
      </p>
      {faults.length > 0 && <FaultTable faults={faults} />}
    </Finding>
  );
}

interface Fault {
  /** 0 if there is no such entry. */
  seq: number;
  /** The subject of the entry, if known. */
  subject?: string | null;
  fault: string;
  expected: string | null;
  actual: string | null;
}

function FaultTable({ faults }: { faults: readonly Fault[] }) {
  const keyed = faults.map((fault, index) => ({ ...fault, key: index }));
  return (
    <DataTable
      caption="Ledger faults"
      rows={keyed}
      rowKey={({ key }) => key}
      columns={[
        {
          id: 'seq',
          header: 'Entry',
          width: '5rem',
          cell: ({ seq }) =>
            seq > 0 ? <Link to={`/ledger#${seq}`}>#{seq}</Link> : <span className="muted">none</span>,
        },
        { id: 'subject', header: 'Of', cell: ({ subject }) => subject ?? '' },
        { id: 'fault', header: 'Fault', cell: ({ fault }) => fault },
        {
          id: 'expected',
          header: 'Expected',
          cell: ({ expected }) => <Value value={expected} what="expected" />,
        },
        { id: 'actual', header: 'Found', cell: ({ actual }) => <Value value={actual} what="found" /> },
      ]}
    />
  );
}

function Value({ value, what }: { value: string | null; what: string }) {
  if (value === null) return <span className="muted">nothing</span>;
  return value.length === 64 ? <DigestChip digest={value} label={what} /> : value;
}

/** The message for each kind of fault. */
const PROBLEM_TEXTS: Record<LedgerProblem['problem'], string> = {
  missing_entry: 'An entry is missing',
  wrong_prev: 'The entry does not link to the previous entry',
  wrong_hash: 'The content does not match the hash',
  wrong_digest: 'The stored record does not match the entry',
  missing_subject: 'The recorded content is no longer stored',
  wrong_timestamp: 'A timestamp is not valid',
  wrong_root: 'The root does not match the entries',
  database_damaged: 'The database is damaged and cannot be read',
};
