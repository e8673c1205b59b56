import type { PackProvenance } from '../../shared/node/peer.ts';
import { CheckpointError, openCheckpoint } from './checkpoint.ts';
import { entryText, hashOf } from './entry.ts';
import { leafHash } from './merkle.ts';
import { rootFromInclusion } from './proofs.ts';

/** Returns whether a provenance proves that the signed ledger of its peer has a pack with this fingerprint. */
export function isProvenBy({ peer, entry, proof, checkpoint }: PackProvenance, digest: string): boolean {
  if (entry.type !== 'pack.added' || entry.digest !== digest || entry.hash !== hashOf(entry)) return false;
  const leaf = leafHash(entryText(entry));
  if (proof.index !== entry.seq - 1 || proof.leaf !== leaf.toString('base64')) return false;
  const path = proof.hashes.map((hash) => Buffer.from(hash, 'base64'));
  const root = rootFromInclusion(leaf, proof.index, proof.size, path);
  try {
    const signed = openCheckpoint(checkpoint, peer.key);
    return signed.size === proof.size && root !== undefined && signed.root.equals(root);
  } catch (error) {
    if (error instanceof CheckpointError) return false;
    throw error;
  }
}
