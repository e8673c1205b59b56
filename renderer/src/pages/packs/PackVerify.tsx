import { Button } from '@mantine/core';
import {
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconEyeOff,
  IconHelpCircle,
  IconLoader2,
  IconShieldCheck,
} from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { type Pack, type PackVerification, recordOf } from '../../../../shared/archive/pack.ts';
import { call, urlOf } from '../../api/client.ts';
import { DigestChip } from '../../components/data/Values.tsx';
import { describeError } from '../../components/feedback/ErrorNote.tsx';
import { hiddenByRefusal } from '../../components/feedback/NotShown.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { countOf, formatCount } from '../../format/size.ts';
import { canonicalSha256 } from '../../hashing/sha256.ts';
import { hashObject } from '../../state/objectChecks.ts';
import { useIsOwner } from '../../state/session.ts';
import classes from './PackVerify.module.css';

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
  const isOwner = useIsOwner();
  const [isRunning, setIsRunning] = useState(false);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const run = async () => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const { signal } = controller;
    let current = checksOf(pack, isOwner);
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
        const check = current[index];
        if (check?.browser.state !== 'waiting') continue;
        find(index, { state: 'running' });
        find(index, await verifyClaim(pack, check, signal));
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
  const hidden = checks.filter((check) => isHidden(check.browser) && !isFault(check.node)).length;
  const faults = checks.filter((check) => isFault(check.browser) || isFault(check.node)).length;
  return (
    <div className="stack gap-3">
      <output className="strong" data-tone={faults > 0 ? 'bad' : 'good'}>
        {isRunning
          ? `Verifying: ${formatCount(fine)} of ${countOf(checks.length, 'claim')} verified so far.`
          : faults > 0
            ? `${countOf(faults, 'claim')} of ${formatCount(checks.length)} could not be verified.`
            : hidden > 0
              ? `${countOf(fine, 'claim')} verified. ${countOf(hidden, 'file is', 'files are')} not shown: this browser could not hash ${hidden === 1 ? 'it' : 'them'}.`
              : `All ${countOf(checks.length, 'claim')} verified, by the node and by this browser.`}
      </output>
      <div className="scroll sheet">
        <table className="full compact">
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

function isHidden({ state }: Finding): boolean {
  return state === 'withheld' || state === 'released';
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
        <span className="cluster inline gap-1 baseline small muted">
          <IconCircleDashed size={15} aria-hidden /> pending
        </span>
      );
    case 'running':
      return (
        <span className="cluster inline gap-1 baseline small muted">
          <IconLoader2 size={15} className={classes.spin} aria-hidden /> verifying
        </span>
      );
    case 'matches':
      return (
        <span className="cluster inline gap-1 baseline small muted" data-tone="good">
          <IconCircleCheck size={15} aria-hidden /> matches
        </span>
      );
    case 'differs':
      return (
        <span className="cluster inline gap-1 baseline small muted" data-tone="bad">
          <IconCircleX size={15} aria-hidden /> differs
          {finding.actual && <DigestChip digest={finding.actual} label="digest found" />}
        </span>
      );
    case 'withheld':
    case 'released':
      return (
        <span className="cluster inline gap-1 baseline small muted">
          <IconEyeOff size={15} aria-hidden />
          {finding.state === 'withheld' ? 'not shown to visitors' : 'given up'}
        </span>
      );
    case 'failed':
      return (
        <span className="cluster inline gap-1 baseline small muted" data-tone="bad">
          <IconHelpCircle size={15} aria-hidden /> {finding.reason}
        </span>
      );
  }
}

/** A claim about a pack and what recomputing it found. */
interface Check {
  what: 'fingerprint' | 'ledger' | 'blob';
  path?: string;
  expected: string;
  /** The finding of this browser, from what the node sent. */
  browser: Finding;
  /** The finding of the node, from its stored bytes. */
  node: Finding;
}

type Finding =
  | { state: 'waiting' }
  | { state: 'running' }
  | { state: 'matches' }
  | { state: 'differs'; actual: string | null }
  | { state: 'failed'; reason: string }
  /** The bytes cannot be read, so only the record says what their digest is. */
  | { state: 'withheld' | 'released' };

/** All verifiable claims about a pack, in the order in which they are verified. What is hidden is not asked for. */
function checksOf(pack: Pack, isOwner: boolean): Check[] {
  const waiting = { browser: { state: 'waiting' }, node: { state: 'running' } } as const;
  const { withheld = [], released = [] } = pack.evidence;
  const hidden = new Map<string, 'withheld' | 'released'>([
    ...(isOwner ? [] : withheld).map(({ sha256 }) => [sha256, 'withheld'] as const),
    ...released.map(({ sha256 }) => [sha256, 'released'] as const),
  ]);
  const browserOf = (sha256: string): Finding => ({ state: hidden.get(sha256) ?? 'waiting' });
  return [
    { what: 'fingerprint', expected: pack.digest, ...waiting },
    { what: 'ledger', expected: pack.digest, ...waiting },
    ...pack.files.map((file) => ({
      what: 'blob' as const,
      path: file.path,
      expected: file.sha256,
      ...waiting,
      browser: browserOf(file.sha256),
    })),
  ];
}

/** Recomputes one claim in this browser from what the node sends. Does not use the node's own findings. */
async function verifyClaim(pack: Pack, check: Check, signal: AbortSignal): Promise<Finding> {
  try {
    const actual = await recompute(pack, check, signal);
    return actual === check.expected ? { state: 'matches' } : { state: 'differs', actual };
  } catch (error) {
    const hidden = hiddenByRefusal(error);
    if (hidden) return { state: hidden.kind };
    return {
      state: 'failed',
      reason: error instanceof Error ? error.message : 'The claim could not be verified.',
    };
  }
}

async function recompute(pack: Pack, check: Check, signal: AbortSignal): Promise<string | null> {
  switch (check.what) {
    case 'fingerprint':
      return canonicalSha256(recordOf(pack));
    case 'ledger':
      return digestInLedger(pack, signal);
    case 'blob':
      return digestOfBlob(check.expected, signal);
  }
}

/** The digest in the pack's ledger entry, if the entry belongs to the pack and its own hash is correct. */
async function digestInLedger(pack: Pack, signal: AbortSignal): Promise<string | null> {
  const page = await call('readLedger', { query: { from: pack.ledger_entry, limit: 1 }, signal });
  const entry = page.items[0];
  if (entry?.seq !== pack.ledger_entry || entry.subject !== pack.id) return null;
  const { hash, ...hashed } = entry;
  return canonicalSha256(hashed) === hash ? entry.digest : null;
}

async function digestOfBlob(sha256: string, signal: AbortSignal): Promise<string> {
  const address = urlOf('readBlob', { params: { sha256 } });
  return (await hashObject(address, { signal, onProgress: () => {} })).sha256;
}

/** Adds the node's findings to the browser's. */
function withNodeFindings(checks: readonly Check[], verification: PackVerification): Check[] {
  const keyOf = (what: string, path = '') => `${what} ${path}`;
  const found = new Map(verification.checks.map((check) => [keyOf(check.check, check.path), check]));
  return checks.map((check) => {
    const finding = found.get(keyOf(check.what, check.path));
    if (!finding) return { ...check, node: { state: 'failed', reason: 'The node did not verify this.' } };
    return {
      ...check,
      // There are no bytes that the node could hash either.
      node:
        check.browser.state === 'released'
          ? check.browser
          : finding.ok
            ? { state: 'matches' }
            : { state: 'differs', actual: finding.actual },
    };
  });
}
