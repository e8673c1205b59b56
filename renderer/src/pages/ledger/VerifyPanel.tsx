import { Button } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconDeviceLaptop, IconShieldCheck } from '@tabler/icons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Link } from 'react-router';
import type { LedgerHead, LedgerProblem, LedgerVerification } from '../../../../shared/ledger/ledger.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { DataTable } from '../../components/data/DataTable.tsx';
import { DigestChip, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { JobBar, NodeJobBar } from '../../components/feedback/JobsTray.tsx';
import { IconButton } from '../../components/forms/buttons.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { countOf, formatDuration } from '../../format.ts';
import { useFollowedJob } from '../../state/jobs.ts';
import { useIsOwner } from '../../state/session.ts';
import { type Recomputed, useRecomputation } from './chain.ts';
import classes from './ledger.module.css';
import { type NodeVerification, useNodeVerification, verificationOf } from './ledgerActions.ts';

/**
 * The two ways to verify: the node checks everything it stores, or this browser checks the chain
 * independently.
 */
export function VerifyPanel({ head }: { head: LedgerHead }) {
  return (
    <Section title="Verify">
      <div className={`${classes.ways} stack gap-4`}>
        <ByTheNode />
        <InThisBrowser head={head} />
      </div>
    </Section>
  );
}

function ByTheNode() {
  const isOwner = useIsOwner();
  const { current, start } = useNodeVerification();
  const job = useFollowedJob(current?.by === 'job' ? current.id : undefined);
  const isRunning = isUnderWay(current, job);
  const { result, failure } = outcomeOf(current, job);
  return (
    <div className={`${classes.way} stack gap-3 items-start`}>
      <p>The node recomputes every entry, every link, the root, and the digest of every stored record.</p>
      {!isRunning && (
        <Button leftSection={<IconShieldCheck size={16} aria-hidden />} onClick={() => void start(isOwner)}>
          Verify
        </Button>
      )}
      {isRunning && current?.by === 'job' && (
        <NodeJobBar title="Verifying on the node" job={job} jobId={current.id} unit="entries" />
      )}
      {current?.by === 'request' && current.state === 'running' && <Waiting onCancel={current.cancel} />}
      <div aria-live="polite" className={`${classes.found} stack gap-3`}>
        {result && <VerificationFindings result={result} />}
        {job?.state === 'cancelled' && <p className="muted">The verification was cancelled.</p>}
        {failure !== undefined && <ErrorNote error={failure} onRetry={() => void start(isOwner)} />}
      </div>
    </div>
  );
}

function isUnderWay(current: NodeVerification | undefined, job: Job | undefined): boolean {
  if (current?.by === 'job') return job === undefined || job.state === 'running';
  return current?.state === 'running';
}

/** What the verification found, or why it failed: of a job, or of a visitor's request. */
function outcomeOf(
  current: NodeVerification | undefined,
  job: Job | undefined,
): { result?: LedgerVerification | undefined; failure?: unknown } {
  if (current?.by === 'job') {
    return {
      result: verificationOf(job?.result),
      failure: job?.state === 'failed' ? new Error(job.error ?? 'The verification failed.') : undefined,
    };
  }
  if (current?.state === 'done') return { result: current.result };
  return current?.state === 'failed' ? { failure: current.error } : {};
}

/** A visitor's verification is a single request without progress, so only the elapsed time is shown. */
function Waiting({ onCancel }: { onCancel: () => void }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <JobBar
      title="Verifying on the node"
      done={seconds}
      total={null}
      unit="seconds elapsed"
      rate={0}
      onCancel={onCancel}
    />
  );
}

function InThisBrowser({ head }: { head: LedgerHead }) {
  const { current, start } = useRecomputation();
  return (
    <div className={`${classes.way} stack gap-3 items-start`}>
      <p>
        This browser downloads every entry and recomputes the chain and the root without relying on the node.
      </p>
      {current?.state === 'running' ? (
        <JobBar
          title="Recomputing in this browser"
          done={current.done}
          total={current.total}
          unit="entries"
          rate={current.rate}
          onCancel={current.cancel}
        />
      ) : (
        <IconButton icon={IconDeviceLaptop} onClick={() => void start(head)}>
          Verify in this browser
        </IconButton>
      )}
      <div aria-live="polite" className={`${classes.found} stack gap-3`}>
        {current?.state === 'done' && <RecomputedFindings {...current} />}
        {current?.state === 'failed' && <ErrorNote error={current.error} onRetry={() => void start(head)} />}
      </div>
    </div>
  );
}

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
function VerificationFindings({ result }: { result: LedgerVerification }) {
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
function RecomputedFindings({ result, at }: { result: Recomputed; at: string }) {
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
