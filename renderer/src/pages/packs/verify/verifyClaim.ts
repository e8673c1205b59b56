import { type Pack, type PackVerification, recordOf } from '../../../../../shared/archive/pack.ts';
import { call, urlOf } from '../../../api/client.ts';
import { hashObject } from '../../../api/hashObject.ts';
import { canonicalSha256 } from '../../../hashing/sha256.ts';

/** A claim about a pack and what recomputing it found. */
export interface Check {
  what: 'fingerprint' | 'ledger' | 'blob';
  path?: string;
  expected: string;
  /** The finding of this browser, from what the node sent. */
  browser: Finding;
  /** The finding of the node, from its stored bytes. */
  node: Finding;
}

export type Finding =
  | { state: 'waiting' }
  | { state: 'running' }
  | { state: 'matches' }
  | { state: 'differs'; actual: string | null }
  | { state: 'failed'; reason: string };

/** All verifiable claims about a pack, in the order in which they are verified. */
export function checksOf(pack: Pack): Check[] {
  const waiting = { browser: { state: 'waiting' }, node: { state: 'running' } } as const;
  return [
    { what: 'fingerprint', expected: pack.digest, ...waiting },
    { what: 'ledger', expected: pack.digest, ...waiting },
    ...pack.files.map((file) => ({
      what: 'blob' as const,
      path: file.path,
      expected: file.sha256,
      ...waiting,
    })),
  ];
}

/** Recomputes one claim in this browser from what the node sends. Does not use the node's own findings. */
export async function verifyClaim(pack: Pack, check: Check, signal: AbortSignal): Promise<Finding> {
  try {
    const actual = await recompute(pack, check, signal);
    return actual === check.expected ? { state: 'matches' } : { state: 'differs', actual };
  } catch (error) {
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
export function withNodeFindings(checks: readonly Check[], verification: PackVerification): Check[] {
  const keyOf = (what: string, path = '') => `${what} ${path}`;
  const found = new Map(verification.checks.map((check) => [keyOf(check.check, check.path), check]));
  return checks.map((check) => {
    const finding = found.get(keyOf(check.what, check.path));
    if (!finding) return { ...check, node: { state: 'failed', reason: 'The node did not verify this.' } };
    return {
      ...check,
      node: finding.ok ? { state: 'matches' } : { state: 'differs', actual: finding.actual },
    };
  });
}
