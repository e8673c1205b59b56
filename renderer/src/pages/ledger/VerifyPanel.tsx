import { Button } from '@mantine/core';
import { IconDeviceLaptop, IconShieldCheck } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import type { LedgerHead } from '../../../../shared/ledger/ledger.ts';
import { call } from '../../api/client.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { JobBar } from '../../components/feedback/JobBar.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { useIsOwner } from '../../state/session.ts';
import { useFollowedJob } from '../../state/useFollowedJob.ts';
import { RecomputedFindings, VerificationFindings } from './Findings.tsx';
import { useNodeVerification, verificationOf } from './nodeVerification.ts';
import { useRecomputation } from './recomputation.ts';
import classes from './VerifyPanel.module.css';

/**
 * The two ways to verify: the node checks everything it stores, or this browser checks the chain
 * independently.
 */
export function VerifyPanel({ head }: { head: LedgerHead }) {
  return (
    <Section title="Verify">
      <div className={classes.ways}>
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
  const isRunning =
    current?.by === 'job' ? job === undefined || job.state === 'running' : current?.state === 'running';
  const cancel = () => {
    setCancelError(undefined);
    if (current?.by === 'job') call('cancelJob', { params: { id: current.id } }).catch(setCancelError);
    else if (current?.state === 'running') current.cancel();
  };
  const result =
    current?.by === 'job'
      ? verificationOf(job?.result)
      : current?.state === 'done'
        ? current.result
        : undefined;
  return (
    <div className={classes.way}>
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
      <div aria-live="polite" className={classes.found}>
        {result && <VerificationFindings result={result} />}
        {job?.state === 'cancelled' && <p className="muted">The verification was cancelled.</p>}
        {job?.state === 'failed' && (
          <ErrorNote
            error={new Error(job.error ?? 'The verification failed.')}
            onRetry={() => void start(isOwner)}
          />
        )}
        {current?.by === 'request' && current.state === 'failed' && (
          <ErrorNote error={current.error} onRetry={() => void start(isOwner)} />
        )}
        {cancelError !== undefined && <ErrorNote error={cancelError} />}
      </div>
    </div>
  );
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
    <div className={classes.way}>
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
      <div aria-live="polite" className={classes.found}>
        {current?.state === 'done' && <RecomputedFindings {...current} />}
        {current?.state === 'failed' && <ErrorNote error={current.error} onRetry={() => void start(head)} />}
      </div>
    </div>
  );
}
