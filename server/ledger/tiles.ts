import { TILE_PATH } from '../../shared/ledger/ledger.ts';
import { Problem } from '../../shared/problems.ts';
import { TILE_WIDTH, type TileAddress } from '../../shared/proof/tree.ts';
import { entriesFrom, tileHashes } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { entryText } from './entry.ts';
import { leafHashes } from './tree.ts';

/**
 * Reads what follows `tile/` in the address of a tile: `0/x001/x234/067` or `entries/000.p/17`.
 *
 * @throws Problem `not_found` where the path is written in another way: each tile has one address.
 */
export function parseTilePath(path: string): TileAddress {
  const [, level, index = '', width] = TILE_PATH.exec(path) ?? [];
  if (level === undefined) throw tileNotFound();
  return {
    level: level === 'entries' ? level : Number(level),
    index: Number(index.replace(/[x/]/g, '')),
    width: width === undefined ? TILE_WIDTH : Number(width),
  };
}

function tileNotFound(): Problem {
  return new Problem(
    'not_found',
    'The log has no such tile. Read /log/checkpoint for its size, and ask for the tiles of a tree of that size.',
  );
}

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

/** A leaf in a tile of entries: after its length in two bytes, highest first. The largest entry is below 1,000 bytes. */
export function framedLeaf(leaf: string): Buffer {
  const bytes = Buffer.from(`\0\0${leaf}`);
  bytes.writeUInt16BE(bytes.length - 2);
  return bytes;
}
