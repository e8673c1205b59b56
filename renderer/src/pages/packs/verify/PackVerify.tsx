import { Button } from '@mantine/core';
import {
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconHelpCircle,
  IconLoader2,
  IconShieldCheck,
} from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import type { Pack } from '../../../../../shared/archive/pack.ts';
import { call } from '../../../api/client.ts';
import { DigestChip } from '../../../components/data/DigestChip.tsx';
import { describeError } from '../../../components/feedback/ErrorNote.tsx';
import { Section } from '../../../components/layout/Section.tsx';
import { countOf, formatCount } from '../../../format/size.ts';
import classes from './PackVerify.module.css';
import { type Check, checksOf, type Finding, verifyClaim, withNodeFindings } from './verifyClaim.ts';

/** Above this many claims, matching files are only counted. */
const MAX_LISTED = 40;

/** Verifies every claim about the pack twice: by the node from its disk, and in this browser. */
export function PackVerify({ pack }: { pack: Pack }) {
  const { checks, isRunning, start } = useVerification(pack);
  return (
    <Section
      title="Verification"
      actions={
        <Button
          variant="default"
          onClick={start}
          loading={isRunning}
          leftSection={<IconShieldCheck size={17} aria-hidden />}
        >
          {checks ? 'Verify' : 'Verify'}
        </Button>
      }
    >
      {checks ? (
        <Findings checks={checks} isRunning={isRunning} />
      ) : (
        <p className="muted">
          The node re-reads every stored byte. This browser downloads the same bytes and hashes them itself.
        </p>
      )}
    </Section>
  );
}

/**
 * A pack can have thousands of files. Limits the parallel downloads and how often the findings are rendered.
 */
const AT_ONCE = 4;
const SHOW_EVERY_MS = 100;

function useVerification(pack: Pack) {
  const [checks, setChecks] = useState<Check[]>();
  const [isRunning, setIsRunning] = useState(false);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const run = async () => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const { signal } = controller;
    let current = checksOf(pack);
    let shownAt = 0;
    const show = (isLast = false) => {
      const now = performance.now();
      if (signal.aborted || (now - shownAt < SHOW_EVERY_MS && !isLast)) return;
      shownAt = now;
      setChecks([...current]);
    };
    const find = (index: number, browser: Finding) => {
      const check = current[index];
      if (check) current[index] = { ...check, browser };
      show();
    };
    setIsRunning(true);
    show(true);
    const askNode = async () => {
      try {
        current = withNodeFindings(current, await call('verifyPack', { params: { id: pack.id }, signal }));
      } catch (error) {
        const node: Finding = { state: 'failed', reason: describeError(error).sentence };
        current = current.map((check) => ({ ...check, node }));
      }
      show(true);
    };
    let next = 0;
    const checkOneByOne = async () => {
      while (next < current.length && !signal.aborted) {
        const index = next;
        next += 1;
        find(index, { state: 'running' });
        const check = current[index];
        if (check) find(index, await verifyClaim(pack, check, signal));
      }
    };
    await Promise.all([askNode(), ...Array.from({ length: AT_ONCE }, checkOneByOne)]);
    show(true);
    if (!signal.aborted) setIsRunning(false);
  };
  return { checks, isRunning, start: () => void run() };
}

function Findings({ checks, isRunning }: { checks: readonly Check[]; isRunning: boolean }) {
  const isMany = checks.length > MAX_LISTED;
  const isListed = (check: Check) =>
    !isMany || check.what !== 'blob' || isFault(check.browser) || isFault(check.node);
  const listed = checks.filter(isListed).slice(0, MAX_LISTED * 5);
  const fine = checks.filter(isFine).length;
  const faults = checks.filter((check) => isFault(check.browser) || isFault(check.node)).length;
  return (
    <div className={classes.findings}>
      <output className={classes.verdict} data-fault={faults > 0 || undefined}>
        {isRunning
          ? `Verifying: ${formatCount(fine)} of ${countOf(checks.length, 'claim')} verified so far.`
          : faults > 0
            ? `${countOf(faults, 'claim')} of ${formatCount(checks.length)} could not be verified.`
            : `All ${countOf(checks.length, 'claim')} verified, by the node and by this browser.`}
      </output>
      <div className={classes.frame}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Claim</th>
              <th scope="col">Digest</th>
              <th scope="col">This browser</th>
              <th scope="col">Node</th>
            </tr>
          </thead>
          <tbody>
            {listed.map((check) => (
              <tr key={check.what + (check.path ?? '')}>
                <td className="wrap-anywhere">{nameOf(check)}</td>
                <td>
                  <DigestChip digest={check.expected} label={`digest of ${check.path ?? check.what}`} />
                </td>
                <td>
                  <FindingText finding={check.browser} />
                </td>
                <td>
                  <FindingText finding={check.node} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {isMany && !isRunning && fine > listed.filter(isFine).length && (
        <p className="muted small">
          {countOf(fine - listed.filter(isFine).length, 'more file')}, all matching.
        </p>
      )}
    </div>
  );
}

function isFault(finding: Finding): boolean {
  return finding.state === 'differs' || finding.state === 'failed';
}

function isFine({ browser, node }: Check): boolean {
  return browser.state === 'matches' && node.state === 'matches';
}

function nameOf(check: Check) {
  if (check.what === 'fingerprint') return 'Fingerprint of the record';
  if (check.what === 'ledger') return 'Fingerprint in the ledger';
  return <code>{check.path}</code>;
}

function FindingText({ finding }: { finding: Finding }) {
  switch (finding.state) {
    case 'waiting':
      return (
        <span className={classes.finding}>
          <IconCircleDashed size={15} aria-hidden /> pending
        </span>
      );
    case 'running':
      return (
        <span className={classes.finding}>
          <IconLoader2 size={15} className={classes.spin} aria-hidden /> verifying
        </span>
      );
    case 'matches':
      return (
        <span className={classes.finding} data-tone="good">
          <IconCircleCheck size={15} aria-hidden /> matches
        </span>
      );
    case 'differs':
      return (
        <span className={classes.finding} data-tone="bad">
          <IconCircleX size={15} aria-hidden /> differs
          {finding.actual && <DigestChip digest={finding.actual} label="digest found" />}
        </span>
      );
    case 'failed':
      return (
        <span className={classes.finding} data-tone="bad">
          <IconHelpCircle size={15} aria-hidden /> {finding.reason}
        </span>
      );
  }
}
