import { TILE_PATH } from '../../../shared/ledger/ledger.ts';
import { Problem } from '../../../shared/problems.ts';
import { TILE_WIDTH } from '../tree.ts';

/** Which tile of the log it is (C2SP tlog-tiles). */
export interface TileAddress {
  /** The level of its hashes, leaves being level 0; or `entries` for the leaves themselves. */
  level: number | 'entries';
  /** Its place within the level, counted from 0. */
  index: number;
  /** How many hashes or entries it holds: 256 in a full tile, fewer in a partial one. */
  width: number;
}

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

export function tileNotFound(): Problem {
  return new Problem(
    'not_found',
    'The log has no such tile. Read /log/checkpoint for its size, and ask for the tiles of a tree of that size.',
  );
}

/** The path of a tile: `tile/0/x001/234` or `tile/entries/000.p/17`. */
export function tilePath({ level, index, width }: TileAddress): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  const last = groups.pop() ?? '000';
  const number = [...groups.map((group) => `x${group}`), last].join('/');
  return `tile/${level}/${number}${width < TILE_WIDTH ? `.p/${width}` : ''}`;
}
