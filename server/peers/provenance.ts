import { type PackProvenance, packProvenanceSchema } from '../../shared/node/peer.ts';
import { requirePack } from '../archive/packs/readPack.ts';
import { provenanceOf } from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';

/**
 * Returns from which peer a pack was mirrored; undefined if it was uploaded to this node.
 *
 * @throws Problem `not_found`
 */
export function readProvenance({ read }: Pick<Store, 'read'>, id: string): PackProvenance | undefined {
  const record = provenanceOf(read, requirePack(read, id).ledger_entry);
  return record === undefined ? undefined : packProvenanceSchema.parse(record);
}
