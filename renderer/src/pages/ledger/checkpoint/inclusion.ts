import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { LedgerEntry } from '../../../../../shared/ledger/ledger.ts';
import { canonicalText } from '../../../../../shared/values/canonicalJson.ts';
import { hashOfParts } from '../chain.ts';

/**
 * Verifies an inclusion proof (RFC 9162, section 2.1.3.2): the tree with this size and root contains the entry at this
 * index, counted from 0.
 */
export function provesInclusion(
  entry: LedgerEntry,
  { index, hashes }: { index: number; hashes: readonly Uint8Array[] },
  { size, root }: { size: number; root: string },
): boolean {
  if (index >= size) return false;
  let position = index;
  let last = size - 1;
  let result = hashOfParts(0, utf8ToBytes(canonicalText(entry)));
  for (const hash of hashes) {
    if (last === 0) return false;
    if (position % 2 === 1 || position === last) {
      result = hashOfParts(1, hash, result);
      while (position % 2 === 0 && position !== 0) {
        position = Math.floor(position / 2);
        last = Math.floor(last / 2);
      }
    } else {
      result = hashOfParts(1, result, hash);
    }
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && bytesToHex(result) === root;
}
