import pLimit from 'p-limit';
import type { z } from 'zod';
import { type InclusionProof, type LedgerEntry, ledgerEntrySchema } from '../../../shared/ledger/ledger.ts';
import type { MirrorLimits } from '../../../shared/limits.ts';
import type { PackProvenance } from '../../../shared/node/peer.ts';
import { splitEntries, TILE_WIDTH, tilePath } from '../../../shared/proof/ledger/tree.ts';
import type { ObjectReceiver } from '../../collection/record/objectReceiver.ts';
import { entryText, hashOf } from '../../ledger/entry.ts';
import { inclusionPath, rootFromInclusion } from '../../ledger/prove.ts';
import { leafHash, parentHash } from '../../ledger/tree.ts';
import type { Store } from '../../store/store.ts';
import { type PeerClient, PeerError, TooLargeError } from '../peerClient.ts';
import type { PeerCheckpoint } from '../peerRecords.ts';
import { type MirrorTally, RefusedRecordError } from './mirrorTally.ts';

const HASH_BYTES = 32;
/** A leaf has at most 65,535 bytes, after its length in two bytes. */
const MAX_ENTRIES_BYTES = TILE_WIDTH * 65_537;
/** The bytes of tiles in memory. Proofs of neighbouring entries need the same tiles; one of entries has 80 kB or so. */
const MAX_CACHED_BYTES = 32 * 1_048_576;
/** Tiles of entries that are read at once: a peer may send 16 MiB for each. */
const ENTRY_TILES_AT_ONCE = 2;

/** An entry of a peer's ledger, with the proof that its checkpoint covers it. */
interface ProvenEntry {
  entry: LedgerEntry;
  proof: InclusionProof;
}

interface EntryTile {
  texts: string[];
  tree: TileTree;
}

/**
 * The ledger of a peer as its tiles give it (C2SP tlog-tiles). Tiles are not trusted: each entry is proven to be in the
 * tree of the verified checkpoint. 256 neighbouring entries take one request.
 */
export class RemoteLog {
  readonly #client: PeerClient;
  readonly #checkpoint: PeerCheckpoint;
  readonly #entries = new TileCache<EntryTile>();
  readonly #tiles = new TileCache<TileTree>();
  readonly #atOnce = pLimit(ENTRY_TILES_AT_ONCE);

  constructor(client: PeerClient, checkpoint: PeerCheckpoint) {
    this.#client = client;
    this.#checkpoint = checkpoint;
  }

  get size(): number {
    return this.#checkpoint.size;
  }

  /** The name of the node that signs the ledger, which stays when this archive calls the peer something else. */
  get origin(): string {
    return this.#checkpoint.origin;
  }

  get note(): string {
    return this.#checkpoint.note;
  }

  /** @throws RefusedRecordError `wrong_proof`; PeerError */
  async entry(seq: number): Promise<ProvenEntry> {
    const { size, root } = this.#checkpoint;
    const index = seq - 1;
    if (index < 0 || index >= size) throw new RefusedRecordError('wrong_proof');
    const tiles = await this.#tilesFor(index);
    const { texts } = await this.#entryTile(Math.floor(index / TILE_WIDTH));
    const text = texts[index % TILE_WIDTH] ?? '';
    const leaf = leafHash(text);
    const path = inclusionPath(index, size, (from, to) => rangeRoot(tiles, from, to));
    if (!rootFromInclusion(leaf, index, size, path)?.equals(root))
      throw new RefusedRecordError('wrong_proof');
    const base64 = (hash: Buffer) => hash.toString('base64');
    return {
      entry: parseEntry(text, seq),
      proof: { leaf: base64(leaf), index, size, root: base64(root), hashes: path.map(base64) },
    };
  }

  /** Returns an entry that must record this. @throws RefusedRecordError `wrong_record`; like `entry` */
  async requireEntry(
    seq: number,
    { type, subject, digest }: Pick<LedgerEntry, 'type' | 'subject' | 'digest'>,
  ): Promise<ProvenEntry> {
    const proven = await this.entry(seq);
    const { entry } = proven;
    if (entry.type !== type || entry.subject !== subject || entry.digest !== digest)
      throw new RefusedRecordError('wrong_record');
    return proven;
  }

  /** Returns the number of the first entry that is not before an instant; one more than the size if there is none. */
  async firstSince(at: string): Promise<number> {
    let [low, high] = [1, this.size + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const { entry } = await this.entry(middle);
      if (entry.at < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Fetches the tiles that the audit path of a leaf needs: those above it, and those at the right edge of the tree. */
  async #tilesFor(index: number): Promise<Map<string, TileTree>> {
    const found = new Map<string, TileTree>();
    let [count, above] = [this.size, index];
    for (let level = 0; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH)) {
      above = Math.floor(above / TILE_WIDTH);
      const edge = Math.floor((count - 1) / TILE_WIDTH);
      for (const number of new Set([Math.min(above, edge), edge])) {
        const width = Math.min(TILE_WIDTH, count - number * TILE_WIDTH);
        found.set(
          `${level}/${number}`,
          await this.#tile(level, number, width, level === 0 && number === above),
        );
      }
    }
    return found;
  }

  async #tile(level: number, number: number, width: number, hasEntries: boolean): Promise<TileTree> {
    if (hasEntries) return (await this.#entryTile(number)).tree;
    return this.#tiles.get(`${level}/${number}`, async () => {
      const bytes = await this.#get(tilePath({ level, index: number, width }), width * HASH_BYTES);
      if (bytes.length !== width * HASH_BYTES) throw new RefusedRecordError('wrong_proof');
      const hashes = Array.from({ length: width }, (_, at) =>
        bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
      );
      return { tile: new TileTree(hashes), bytes: bytes.length * 2 };
    });
  }

  #entryTile(number: number): Promise<EntryTile> {
    const read = async () => {
      const width = Math.min(TILE_WIDTH, this.size - number * TILE_WIDTH);
      const bytes = await this.#get(tilePath({ level: 'entries', index: number, width }), MAX_ENTRIES_BYTES);
      const texts = splitEntries(bytes).map((leaf) => Buffer.from(leaf).toString());
      if (texts.length !== width) throw new RefusedRecordError('wrong_proof');
      return { tile: { texts, tree: new TileTree(texts.map(leafHash)) }, bytes: bytes.length };
    };
    return this.#entries.get(String(number), () => this.#atOnce(read));
  }

  async #get(path: string, maxBytes: number): Promise<Buffer> {
    try {
      return await this.#client.bytes(`/log/${path}`, maxBytes);
    } catch (error) {
      if (error instanceof TooLargeError) throw new RefusedRecordError('wrong_proof', error);
      throw error;
    }
  }
}

/** Keeps the newest tiles, bounded by their bytes. A failure is not kept. */
class TileCache<Tile> {
  readonly #tiles = new Map<string, { tile: Promise<Tile>; bytes: number }>();
  #bytes = 0;

  get(key: string, read: () => Promise<{ tile: Tile; bytes: number }>): Promise<Tile> {
    const known = this.#tiles.get(key);
    if (known) return known.tile;
    const kept = { tile: read().then((made) => this.#count(key, made)), bytes: 0 };
    this.#tiles.set(key, kept);
    kept.tile.catch(() => this.#tiles.delete(key));
    return kept.tile;
  }

  #count(key: string, { tile, bytes }: { tile: Tile; bytes: number }): Tile {
    const kept = this.#tiles.get(key);
    if (!kept) return tile;
    kept.bytes = bytes;
    this.#bytes += bytes;
    for (const [oldest, other] of this.#tiles) {
      if (this.#bytes <= MAX_CACHED_BYTES) break;
      // One that is still being read has no bytes yet.
      if (other.bytes === 0) continue;
      this.#tiles.delete(oldest);
      this.#bytes -= other.bytes;
    }
    return tile;
  }
}

/** The root over the leaves `from` to `to - 1`: the complete subtrees of the range, combined from the right. */
function rangeRoot(tiles: ReadonlyMap<string, TileTree>, from: number, to: number): Buffer {
  const subtrees: Buffer[] = [];
  for (let at = from; at < to; ) {
    let [level, span] = [0, 1];
    while (at % (span * 2) === 0 && at + span * 2 <= to) [level, span] = [level + 1, span * 2];
    subtrees.push(subtree(tiles, level, at / span));
    at += span;
  }
  const root = subtrees.reduceRight<Buffer | undefined>(
    (right, left) => (right ? parentHash(left, right) : left),
    undefined,
  );
  if (!root) throw new RefusedRecordError('wrong_proof');
  return root;
}

function subtree(tiles: ReadonlyMap<string, TileTree>, level: number, index: number): Buffer {
  const [above, within] = [Math.floor(level / TILE_LEVELS), level % TILE_LEVELS];
  const perTile = TILE_WIDTH / 2 ** within;
  const hash = tiles.get(`${above}/${Math.floor(index / perTile)}`)?.at(within, index % perTile);
  if (!hash) throw new RefusedRecordError('wrong_proof');
  return hash;
}

/** Parses a leaf. Its text must be the canonical form of an entry, so that nothing else was proven. */
function parseEntry(text: string, seq: number): LedgerEntry {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RefusedRecordError('wrong_record', error);
  }
  const entry = ledgerEntrySchema.safeParse(value).data;
  if (entry?.seq !== seq || entryText(entry) !== text || entry.hash !== hashOf(entry))
    throw new RefusedRecordError('wrong_record');
  return entry;
}

/** The number of levels of the tree in a tile of 256 hashes. */
const TILE_LEVELS = 8;

/** The hashes of one tile and of the complete subtrees above them, so that a proof looks its hashes up. */
class TileTree {
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

/** How far a selection was mirrored: the size of the peer's ledger, and the records that are held. */
export interface Progress {
  size: number;
  held: number;
  /** The last retrieval of the peer that was examined; 0 for packs. */
  position: number;
}

/** Shared by the parts of one mirror. */
export interface Mirroring {
  store: Store;
  client: PeerClient;
  log: RemoteLog;
  tally: MirrorTally;
  receiver: ObjectReceiver;
  maxObjectMb: number;
  limits: MirrorLimits;
  peer: { id: string; name: string };
  /** The number of the peer, under which this archive keeps what came from it. */
  origin: number;
  /** The name of this node, as its peers know it. */
  ownName: string;
  signal: AbortSignal;
  /** Called with the number of records examined so far. */
  progress: (done: number) => void;
  /** The peer and the time, for the provenance of a pack. */
  provenance: () => Pick<PackProvenance, 'peer' | 'mirrored_at'>;
  /** @throws RefusedRecordError `no_room` */
  reserveSpace: (bytes: number) => Promise<void>;
  releaseSpace: (bytes: number) => void;
}

export const MAX_LIST_BYTES = 8 * 1_048_576;
/** The items that are asked for at once. */
const PAGE = 200;
/** Items in a row that are newer than the checkpoint, after which a list counts as endless. */
const MAX_NEWER = 100_000;
/** Pages in a row without any item, after which a list counts as ended. */
const MAX_EMPTY_PAGES = 100;

/** How a list of the peer is read to its end. */
export interface RemoteList<Item, Cursor> {
  /** Reads a page. `next` is where the next one begins, or null. */
  read: (from: Cursor) => Promise<{ items: readonly Item[]; next: Cursor | null }>;
  first: Cursor;
  /** The order of the items by their place, which is their entry or grows with it. `none`: any order. */
  order: 'newest' | 'oldest' | 'none';
  place: (item: Item) => number;
  /** The ledger entry that covers an item. */
  entry: (item: Item) => number;
  /** Only items of later entries are yielded. 0 by default. */
  after?: number;
}

/**
 * Reads a list of the peer to its end, whatever the peer adds meanwhile, and yields page by page the items that its verified
 * checkpoint covers. Nothing of them is proven yet. An item is yielded once, and a page has to bring something new, so that an
 * endless list ends.
 *
 * @throws PeerError; the signal's reason
 */
export async function* coveredPages<Item, Cursor>(
  { log, signal }: Pick<Mirroring, 'log' | 'signal'>,
  { read, first, order, place, entry, after = 0 }: RemoteList<Item, Cursor>,
): AsyncGenerator<Item[]> {
  let last = order === 'newest' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const seen = new Set<number>();
  const isKnown = (at: number) =>
    order === 'none' ? seen.has(at) : order === 'newest' ? at >= last : at <= last;
  let [newer, empty] = [0, 0];
  for (let from: Cursor | null = first; from !== null; ) {
    signal.throwIfAborted();
    const { items, next }: { items: readonly Item[]; next: Cursor | null } = await read(from);
    const fresh: Item[] = [];
    for (const item of items) {
      const at = place(item);
      if (isKnown(at)) continue;
      if (order === 'none') seen.add(at);
      last = at;
      fresh.push(item);
    }
    const covered = fresh.filter((item) => entry(item) <= log.size && entry(item) > after);
    if (covered.length > 0) yield covered;
    const isPast = (item: Item) =>
      (order === 'newest' && entry(item) <= after) || (order === 'oldest' && entry(item) > log.size);
    if (fresh.some(isPast) || (items.length > 0 && fresh.length === 0)) return;
    newer = covered.length > 0 ? 0 : newer + fresh.length;
    empty = items.length > 0 ? 0 : empty + 1;
    if (newer > MAX_NEWER || empty === MAX_EMPTY_PAGES)
      throw new PeerError('failing', 'The peer sends a list that does not end.');
    from = next;
  }
}

/**
 * Yields the items of a list with `limit` and `offset` that the verified checkpoint covers, newest first.
 *
 * @throws PeerError; the signal's reason
 */
export async function* coveredItems<Item extends { ledger_entry: number }>(
  mirroring: Pick<Mirroring, 'client' | 'log' | 'signal'>,
  path: string,
  schema: z.ZodType<{ items: Item[] }>,
): AsyncGenerator<Item> {
  const read = async (offset: number) => {
    const query = `${path}?limit=${PAGE}&offset=${offset}`;
    const list = await mirroring.client.json(query, schema, MAX_LIST_BYTES).catch(noSuchList);
    const items = list.items.slice(0, PAGE);
    return { items, next: items.length < PAGE ? null : offset + PAGE };
  };
  const entry = (item: Item) => item.ledger_entry;
  const list = { read, first: 0, order: 'newest' as const, place: entry, entry };
  for await (const items of coveredPages(mirroring, list)) yield* items;
}

/** A peer of an earlier version has no such list. */
export function noSuchList(error: unknown): { items: [] } {
  if (error instanceof PeerError && (error.status === 400 || error.status === 404)) return { items: [] };
  throw error;
}
