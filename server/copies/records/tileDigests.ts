import { hash } from 'node:crypto';
import type { LedgerEntry } from '../../../shared/ledger/ledger.ts';
import { entryText } from '../../ledger/entry.ts';
import { GrowingTree, leafHash } from '../../ledger/merkle.ts';
import { framedLeaf } from '../../ledger/tiles/framedLeaf.ts';
import { type TileAddress, tilePath } from '../../ledger/tiles/tileAddress.ts';
import { TILE_WIDTH } from '../../ledger/tree.ts';

/** A tile as it must be. */
export interface TileDigest {
  path: string;
  sha256: string;
}

/** The parts of the tile that is being filled, and the number of full ones before it. */
interface Filling {
  index: number;
  parts: Buffer[];
}

/** Makes the tiles of a log from its entries, without a node. Only their digests are kept. */
export class TileDigests {
  readonly #entries: Filling = { index: 0, parts: [] };
  readonly #levels: Filling[] = [];
  readonly #tiles: TileDigest[] = [];

  /** Called with each entry of the ledger, in order. */
  add(entry: LedgerEntry): void {
    const leaf = entryText(entry);
    this.#entries.parts.push(framedLeaf(leaf));
    if (this.#entries.parts.length === TILE_WIDTH) this.#complete('entries', this.#entries);
    this.#addHash(0, leafHash(leaf));
  }

  #addHash(level: number, added: Buffer): void {
    const filling = (this.#levels[level] ??= { index: 0, parts: [] });
    filling.parts.push(added);
    if (filling.parts.length < TILE_WIDTH) return;
    const tree = new GrowingTree();
    for (const part of filling.parts) tree.append(part);
    this.#complete(level, filling);
    this.#addHash(level + 1, tree.root());
  }

  #complete(level: TileAddress['level'], filling: Filling): void {
    const path = tilePath({ level, index: filling.index, width: filling.parts.length });
    this.#tiles.push({ path, sha256: hash('sha256', Buffer.concat(filling.parts)) });
    filling.index += 1;
    filling.parts = [];
  }

  /** Returns all tiles, the partial ones last. */
  finish(): TileDigest[] {
    if (this.#entries.parts.length > 0) this.#complete('entries', this.#entries);
    for (const [level, filling] of this.#levels.entries())
      if (filling.parts.length > 0) this.#complete(level, filling);
    return this.#tiles;
  }
}
