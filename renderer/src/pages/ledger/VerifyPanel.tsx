import { Button } from '@mantine/core';
import { IconDeviceLaptop, IconShieldCheck } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import type { LedgerHead, LedgerVerification } from '../../../../shared/ledger/ledger.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { call } from '../../api/client.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { JobBar } from '../../components/feedback/JobsTray.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { useFollowedJob } from '../../state/jobs.ts';
import { useIsOwner } from '../../state/session.ts';
import { useRecomputation } from './chain.ts';
import { RecomputedFindings, VerificationFindings } from './Findings.tsx';
import classes from './ledger.module.css';
import { type NodeVerification, useNodeVerification, verificationOf } from './nodeVerification.ts';

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
  const [cancelError, setCancelError] = useState<unknown>();
  const isRunning = isUnderWay(current, job);
  const cancel = () => {
    setCancelError(undefined);
    if (current?.by === 'job') call('cancelJob', { params: { id: current.id } }).catch(setCancelError);
    else if (current?.state === 'running') current.cancel();
  };
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
        <JobBar
          title="Verifying on the node"
          {...(job?.progress ?? { done: 0, total: null, unit: 'entries', rate: 0 })}
          onCancel={cancel}
        />
      )}
      {isRunning && current?.by === 'request' && <Waiting onCancel={cancel} />}
      <div aria-live="polite" className={`${classes.found} stack gap-3`}>
        {result && <VerificationFindings result={result} />}
        {job?.state === 'cancelled' && <p className="muted">The verification was cancelled.</p>}
        {failure !== undefined && <ErrorNote error={failure} onRetry={() => void start(isOwner)} />}
        {cancelError !== undefined && <ErrorNote error={cancelError} />}
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
        <Button
          variant="default"
          leftSection={<IconDeviceLaptop size={16} aria-hidden />}
          onClick={() => void start(head)}
        >
          Verify in this browser
        </Button>
      )}
      <div aria-live="polite" className={`${classes.found} stack gap-3`}>
        {current?.state === 'done' && <RecomputedFindings {...current} />}
        {current?.state === 'failed' && <ErrorNote error={current.error} onRetry={() => void start(head)} />}
      </div>
    </div>
  );
}
