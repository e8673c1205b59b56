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
import { Link } from 'react-router';
import { type Pack, type PackVerification, recordOf } from '../../../../shared/archive/pack.ts';
import type { DataSet } from '../../../../shared/archive/set.ts';
import { MAX_PACK_FILES } from '../../../../shared/limits.ts';
import { call, urlOf } from '../../api/client.ts';
import { DigestChip } from '../../components/data/Values.tsx';
import { describeError, hiddenByRefusal } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { countOf, formatBytes, formatCount } from '../../format.ts';
import { canonicalSha256 } from '../../hashing/sha256.ts';
import { hashObject } from '../../state/objectChecks.ts';
import { useIsOwner } from '../../state/session.ts';
import classes from './packs.module.css';

/** Above this many claims, matching files are only counted. */
const MAX_LISTED = 40;

/** Verifies every claim about the pack twice: by the node from its disk, and in this browser. */
export function PackVerify({ pack }: { pack: Pack }) {
  const { checks, others, isRunning, start } = usePackVerification(pack);
  const { set } = pack.evidence;
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
          Verify
        </Button>
      }
    >
      {checks ? (
        <Findings checks={checks} others={others} isRunning={isRunning} />
      ) : (
        <p className="muted">
          {set && !isHashedHere(set)
            ? `The node re-reads every stored byte of every part. This browser verifies the record and the list of files. It does not download the files (${formatBytes(set.bytes)}).`
            : 'The node re-reads every stored byte. This browser downloads the same bytes and hashes them itself.'}
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

/** Larger sets are hashed by the node alone. */
const MAX_HASHED_BYTES = 500_000_000;
/** The faults of the node that are listed. */
const MAX_FAULTS = 200;

/** Returns whether this browser hashes the files of a set. */
function isHashedHere({ files, bytes }: NonNullable<Pack['evidence']['set']>): boolean {
  return bytes <= MAX_HASHED_BYTES && files <= MAX_PACK_FILES;
}

function usePackVerification(pack: Pack) {
  const [checks, setChecks] = useState<Check[]>();
  /** The claims that only the node verified, and that match. */
  const [others, setOthers] = useState(0);
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
    setOthers(0);
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
    const { set } = pack.evidence;
    if (set && isHashedHere(set)) {
      // A failure is found again below, as the digest of the list.
      const list = await call('readSet', { params: { id: pack.id }, signal }).catch(() => undefined);
      current = [...current, ...filesOfSet(list?.files ?? [], pack, isOwner)];
      show(true);
    }
    const askNode = async () => {
      try {
        const found = await call('verifyPack', { params: { id: pack.id }, signal });
        const { checks: all, matching } = withNodeFindings(current, found, pack);
        current = all;
        setOthers(matching);
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
  return { checks, others, isRunning, start: () => void run() };
}

interface FindingsProps {
  checks: readonly Check[];
  others: number;
  isRunning: boolean;
}

function Findings({ checks, others, isRunning }: FindingsProps) {
  const isMany = checks.length > MAX_LISTED;
  const isListed = (check: Check) =>
    !isMany ||
    (check.what !== 'blob' && check.what !== 'file') ||
    isFault(check.browser) ||
    isFault(check.node);
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
        {others > 0 && ` The node also verified ${countOf(others, 'claim')} about the parts of the set.`}
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
              <tr key={keyOf(check)}>
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
  const { pack } = check;
  const ofPart = pack && (
    <>
      {' of '}
      <Link className="mono" to={`/packs/${pack}`}>
        {pack}
      </Link>
    </>
  );
  if (check.what === 'fingerprint') return ofPart ? <>Fingerprint{ofPart}</> : 'Fingerprint of the record';
  if (check.what === 'ledger') return ofPart ? <>Ledger entry{ofPart}</> : 'Fingerprint in the ledger';
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
    case 'not here':
      return <span className="small muted">not hashed</span>;
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
  /** `file`: a file of a set. */
  what: 'fingerprint' | 'ledger' | 'blob' | 'file';
  path?: string;
  /** The part of a set that it is about; undefined for the pack itself. */
  pack?: string;
  expected: string;
  /** The finding of this browser, from what the node sent. */
  browser: Finding;
  /** The finding of the node, from its stored bytes. */
  node: Finding;
}

type Finding =
  | { state: 'waiting' }
  | { state: 'running' }
  /** Left to the node. */
  | { state: 'not here' }
  | { state: 'matches' }
  | { state: 'differs'; actual: string | null }
  | { state: 'failed'; reason: string }
  /** The bytes cannot be read, so only the record says what their digest is. */
  | { state: 'withheld' | 'released' };

/** All verifiable claims about a pack, in the order in which they are verified. What is hidden is not asked for. */
function checksOf(pack: Pack, isOwner: boolean): Check[] {
  const waiting = { browser: { state: 'waiting' }, node: { state: 'running' } } as const;
  const browserOf = hiddenFindings(pack, isOwner);
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

/** The claims about the files of a set. */
function filesOfSet(files: DataSet['files'], pack: Pack, isOwner: boolean): Check[] {
  const browserOf = hiddenFindings(pack, isOwner);
  return files.map(({ path, sha256 }) => ({
    what: 'file',
    path,
    expected: sha256,
    browser: browserOf(sha256),
    node: { state: 'running' },
  }));
}

/** Returns what this browser finds of a digest before it asks for the bytes. */
function hiddenFindings({ evidence }: Pack, isOwner: boolean): (sha256: string) => Finding {
  const { withheld = [], released = [] } = evidence;
  const hidden = new Map<string, 'withheld' | 'released'>([
    ...(isOwner ? [] : withheld).map(({ sha256 }) => [sha256, 'withheld'] as const),
    ...released.map(({ sha256 }) => [sha256, 'released'] as const),
  ]);
  return (sha256) => ({ state: hidden.get(sha256) ?? 'waiting' });
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
      return digestOf(urlOf('readBlob', { params: { sha256: check.expected } }), signal);
    case 'file':
      return digestOf(urlOf('readSetFile', { params: { id: pack.id, path: check.path ?? '' } }), signal);
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

async function digestOf(address: string, signal: AbortSignal): Promise<string> {
  return (await hashObject(address, { signal, onProgress: () => {} })).sha256;
}

function keyOf({ what, path = '', pack = '' }: Pick<Check, 'what' | 'path' | 'pack'>): string {
  return `${what} ${pack} ${path}`;
}

/**
 * Adds the node's findings to the browser's. Of a large set there may be 200,000 that the browser does not look for: only
 * the faults among them are kept, and the others are counted.
 */
function withNodeFindings(
  checks: readonly Check[],
  verification: PackVerification,
  { files }: Pack,
): { checks: Check[]; matching: number } {
  // The pack's own claims are first: its record, its files and its ledger entry. A set may have a file of the same name.
  const own = files.length + 2;
  const found = new Map(
    verification.checks.map((check, index) => {
      const what: Check['what'] = check.check === 'blob' && index >= own ? 'file' : check.check;
      const { path, pack } = check;
      return [
        keyOf({ what, ...(path !== undefined && { path }), ...(pack !== undefined && { pack }) }),
        { ...check, what },
      ];
    }),
  );
  const compared = checks.map((check): Check => {
    const key = keyOf(check);
    const finding = found.get(key);
    found.delete(key);
    if (!finding) return { ...check, node: { state: 'failed', reason: 'The node did not verify this.' } };
    // There are no bytes that the node could hash either.
    const { released } = finding;
    return { ...check, node: released ? { state: 'released' } : findingOf(finding) };
  });
  const faults = [...found.values()].filter(({ ok }) => !ok);
  const listed = faults.slice(0, MAX_FAULTS).map(
    (finding): Check => ({
      what: finding.what,
      ...(finding.path !== undefined && { path: finding.path }),
      ...(finding.pack !== undefined && { pack: finding.pack }),
      expected: finding.expected,
      browser: { state: 'not here' },
      node: findingOf(finding),
    }),
  );
  return { checks: [...compared, ...listed], matching: found.size - faults.length };
}

function findingOf({ ok, actual }: PackVerification['checks'][number]): Finding {
  return ok ? { state: 'matches' } : { state: 'differs', actual };
}
