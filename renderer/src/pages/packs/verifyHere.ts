import { type Pack, type PackVerification, recordOf } from '../../../../shared/pack.ts';
import { addressOf, call } from '../../api/client.ts';
import { hashObject } from '../../api/hashObject.ts';
import { fingerprintHere } from '../../hashing/sha256.ts';

/** One thing that is claimed of a pack, and what was found when it was recomputed. */
export interface Check {
  what: 'fingerprint' | 'ledger' | 'blob';
  path?: string;
  expected: string;
  /** As this browser found it, from what the node sent. */
  here: Finding;
  /** As the node found it, from what it has stored. */
  node: Finding;
}

export type Finding =
  | { state: 'waiting' }
  | { state: 'running' }
  | { state: 'matches' }
  | { state: 'differs'; actual: string | null }
  | { state: 'failed'; reason: string };

/** Everything about a pack that can be checked, in the order it is checked. */
export function checksOf(pack: Pack): Check[] {
  const waiting = { here: { state: 'waiting' }, node: { state: 'running' } } as const;
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

/** Recomputes one claim in this browser from what the node sends, trusting none of the node's own findings. */
export async function checkHere(pack: Pack, check: Check, signal: AbortSignal): Promise<Finding> {
  try {
    const actual = await recompute(pack, check, signal);
    return actual === check.expected ? { state: 'matches' } : { state: 'differs', actual };
  } catch (error) {
    return { state: 'failed', reason: error instanceof Error ? error.message : 'It could not be checked.' };
  }
}

async function recompute(pack: Pack, check: Check, signal: AbortSignal): Promise<string | null> {
  switch (check.what) {
    case 'fingerprint':
      return fingerprintHere(recordOf(pack));
    case 'ledger':
      return digestInLedger(pack, signal);
    case 'blob':
      return digestOfBlob(check.expected, signal);
  }
}

/** The digest that the pack's ledger entry holds, if the entry is of this pack and hashes to its own hash. */
async function digestInLedger(pack: Pack, signal: AbortSignal): Promise<string | null> {
  const page = await call('readLedger', { query: { from: pack.ledger_entry, limit: 1 }, signal });
  const entry = page.items[0];
  if (entry?.seq !== pack.ledger_entry || entry.subject !== pack.id) return null;
  const { hash, ...hashed } = entry;
  return fingerprintHere(hashed) === hash ? entry.digest : null;
}

async function digestOfBlob(sha256: string, signal: AbortSignal): Promise<string> {
  const address = addressOf('readBlob', { params: { sha256 } });
  return (await hashObject(address, { signal, tell: () => {} })).sha256;
}

/** Writes the node's findings beside this browser's. */
export function withNodeFindings(checks: readonly Check[], verification: PackVerification): Check[] {
  const keyOf = (what: string, path = '') => `${what} ${path}`;
  const found = new Map(verification.checks.map((check) => [keyOf(check.check, check.path), check]));
  return checks.map((check) => {
    const finding = found.get(keyOf(check.what, check.path));
    if (!finding) return { ...check, node: { state: 'failed', reason: 'The node did not check this.' } };
    return {
      ...check,
      node: finding.ok ? { state: 'matches' } : { state: 'differs', actual: finding.actual },
    };
  });
}
