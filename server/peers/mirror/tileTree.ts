import { parentHash } from '../../ledger/merkle.ts';

/** The number of levels of the tree in a tile of 256 hashes. */
export const TILE_LEVELS = 8;

/** The hashes of one tile and of the complete subtrees above them, so that a proof looks its hashes up. */
export class TileTree {
  readonly #levels: Buffer[][];

  constructor(hashes: Buffer[]) {
    this.#levels = [hashes];
    for (let level = 1; level <= TILE_LEVELS; level += 1) {
      const below = this.#levels[level - 1] ?? [];
      const above: Buffer[] = [];
      for (let left = 0; left + 1 < below.length; left += 2)
        above.push(parentHash(below[left] as Buffer, below[left + 1] as Buffer));
      this.#levels.push(above);
    }
  }

  /** The root of the complete subtree of 2^level hashes at `index`; undefined if the tile does not have all of them. */
  at(level: number, index: number): Buffer | undefined {
    return this.#levels[level]?.[index];
  }
}
