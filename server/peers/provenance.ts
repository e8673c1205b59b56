import { type PackProvenance, packProvenanceSchema } from '../../shared/node/peer.ts';
import { Problem } from '../../shared/problems.ts';
import { requirePack } from '../archive/packs/readPack.ts';
import { provenanceOf } from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';

/**
 * Returns from which peer a pack was mirrored.
 *
 * @throws Problem `not_found` if there is no such pack, or if it was uploaded to this node
 */
export function readProvenance({ read }: Pick<Store, 'read'>, id: string): PackProvenance {
  const record = provenanceOf(read, requirePack(read, id).ledger_entry);
  if (record === undefined) throw new Problem('not_found', `The pack ${id} was not mirrored from a peer.`);
  return packProvenanceSchema.parse(record);
}
