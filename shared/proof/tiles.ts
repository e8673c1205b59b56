/** The number of hashes in a full tile of a log, and of entries (C2SP tlog-tiles). */
export const TILE_WIDTH = 256;

/** Which tile of the log it is. */
export interface TileAddress {
  /** The level of its hashes, leaves being level 0; or `entries` for the leaves themselves. */
  level: number | 'entries';
  /** Its place within the level, counted from 0. */
  index: number;
  /** How many hashes or entries it holds: 256 in a full tile, fewer in a partial one. */
  width: number;
}

/** The path of a tile: `tile/0/x001/234` or `tile/entries/000.p/17`. */
export function tilePath({ level, index, width }: TileAddress): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  const last = groups.pop() ?? '000';
  const number = [...groups.map((group) => `x${group}`), last].join('/');
  return `tile/${level}/${number}${width < TILE_WIDTH ? `.p/${width}` : ''}`;
}

/** Splits a tile of entries: each leaf is after its length in two bytes, highest first. A leaf that is cut is left out. */
export function splitEntries(tile: Uint8Array): Uint8Array[] {
  const leaves: Uint8Array[] = [];
  for (let at = 0; at + 2 <= tile.length; ) {
    const end = at + 2 + (((tile[at] ?? 0) << 8) | (tile[at + 1] ?? 0));
    if (end > tile.length) break;
    leaves.push(tile.subarray(at + 2, end));
    at = end;
  }
  return leaves;
}
