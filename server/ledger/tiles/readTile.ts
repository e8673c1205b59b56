import { entriesFrom, tileHashes } from '../../store/sqlite/node/ledger.ts';
import type { Store } from '../../store/store.ts';
import { entryText } from '../entry.ts';
import { leafHashes, TILE_WIDTH } from '../tree.ts';
import { framedLeaf } from './framedLeaf.ts';
import { type TileAddress, tileNotFound } from './tileAddress.ts';

/**
 * The bytes of a tile: its hashes, 32 bytes each, or its entries. Every partial tile that the ledger ever had is still
 * answered, because a checkpoint of that size may be held by somebody.
 *
 * @throws Problem `not_found` where the ledger is not large enough to have it
 */
export function readTile({ read }: Pick<Store, 'read'>, { level, index, width }: TileAddress): Buffer {
  const from = index * TILE_WIDTH;
  const to = from + width;
  let parts: Buffer[];
  if (level === 'entries')
    parts = entriesFrom(read, from + 1, width).map((entry) => framedLeaf(entryText(entry)));
  else if (level === 0) parts = leafHashes(read, from, to);
  else parts = tileHashes(read, level, from, to);
  if (parts.length < width) throw tileNotFound();
  return Buffer.concat(parts);
}
