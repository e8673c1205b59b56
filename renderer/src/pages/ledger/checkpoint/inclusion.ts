import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { LedgerEntry } from '../../../../../shared/ledger/ledger.ts';
import { rootFromPath } from '../../../../../shared/proof/inclusion.ts';
import { canonicalText } from '../../../../../shared/values/canonicalJson.ts';
import { hashOfParts } from '../chain.ts';

/** Verifies an inclusion proof: the tree with this size and root contains the entry at this index, counted from 0. */
export function provesInclusion(
  entry: LedgerEntry,
  { index, hashes }: { index: number; hashes: readonly Uint8Array[] },
  { size, root }: { size: number; root: string },
): boolean {
  const leaf = hashOfParts(0, utf8ToBytes(canonicalText(entry)));
  const computed = rootFromPath(leaf, { index, size }, hashes, (left, right) => hashOfParts(1, left, right));
  return computed !== undefined && bytesToHex(computed) === root;
}
