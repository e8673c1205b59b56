import { sha256 } from '@noble/hashes/sha2.js';
import canonicalize from 'canonicalize';
import { concat, hexOf, isSameBytes, utf8 } from '../../../../shared/proof/crypto/bytes.ts';
import {
  splitEntries,
  TILE_WIDTH,
  type TileAddress,
  tilePath,
} from '../../../../shared/proof/ledger/tree.ts';
import { recordsFiles } from '../../copyPaths.ts';

/** Reads a file of the copy. @throws Error if there is none */
type ReadPresent = (path: string) => Promise<Response>;

/** The size and the root of the tree that a checkpoint states. */
interface TreeHead {
  size: number;
  root: Uint8Array;
}

export interface Entry {
  seq: number;
  type: string;
  subject: string;
  digest: string;
}

type Line = Record<string, unknown>;

/** The members that an entry records, by its type. Others record the member `record`. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  'study.created': ['id', 'title', 'question', 'description', 'node', 'status', 'created_at'],
  'pack.deposited': ['pack', 'doi', 'url', 'repository', 'at'],
  'object.released': ['at', 'bytes', 'note', 'reason', 'sha256'],
  'event.recorded': [
    'id',
    'source',
    'url',
    'retrieval',
    'event_type',
    'observer',
    'observed_at',
    'original_observed_at',
    'sha256',
    'previous_sha256',
    'reverts_to',
    'page_label',
  ],
};

/** The ledger of a copy, whose entries are compared with a checkpoint by the tiles. */
export class CopiedLedger {
  readonly #read: ReadPresent;
  readonly #head: TreeHead;
  readonly #tiles = new Map<string, Promise<Uint8Array>>();

  constructor(read: ReadPresent, head: TreeHead) {
    this.#read = read;
    this.#head = head;
  }

  /**
   * Reads an entry, and returns whether it is in the ledger that the checkpoint covers. A file can have more entries than that:
   * the hash of one of these is no part of the root.
   *
   * @throws Error
   */
  async entry(seq: number): Promise<{ entry: Entry; isIncluded: boolean }> {
    const place = seq - 1;
    if (!Number.isInteger(place) || place < 0 || place >= this.#head.size)
      throw new Error(`The checkpoint covers no entry ${seq}.`);
    const entries = splitEntries(await this.#tile('entries', Math.floor(place / TILE_WIDTH)));
    const leaf = entries[place % TILE_WIDTH] ?? new Uint8Array();
    const entry = JSON.parse(new TextDecoder().decode(leaf)) as Entry;
    const root = await this.#rootWith(sha256(concat(Uint8Array.of(0), leaf)), place);
    return { entry, isIncluded: entry.seq === seq && isSameBytes(root, this.#head.root) };
  }

  /** Reads what an entry records, and returns whether it is what the entry covers. @throws Error */
  async record(entry: Entry, claimed: URLSearchParams): Promise<{ record: unknown; isRecorded: boolean }> {
    const record = recordedPart(entry, await this.#line(entry.seq), claimed);
    return { record, isRecorded: hexOf(sha256(utf8(canonicalize(record) ?? ''))) === entry.digest };
  }

  /** Whether an entry of the ledger, from one on, records that the bytes of an object were given up. */
  async release(digest: string, from: number): Promise<number | undefined> {
    for (const { path } of recordsFiles(this.#head.size, from))
      for (const text of (await (await this.#read(path)).text()).split('\n')) {
        if (!text.startsWith('{"kind":"object_released"') || !text.includes(digest)) continue;
        const { ledger_entry: seq } = JSON.parse(text) as { ledger_entry?: unknown };
        if (typeof seq === 'number' && (await this.#isReleasedBy(seq, digest))) return seq;
      }
    return undefined;
  }

  async #isReleasedBy(seq: number, digest: string): Promise<boolean> {
    const { entry, isIncluded } = await this.entry(seq);
    if (!isIncluded || entry.type !== 'object.released' || entry.subject !== digest) return false;
    return (await this.record(entry, new URLSearchParams())).isRecorded;
  }

  async #line(seq: number): Promise<Line> {
    const [{ path } = { path: '' }] = recordsFiles(this.#head.size, seq);
    for (const line of (await (await this.#read(path)).text()).split('\n')) {
      if (line === '' || line.startsWith('{"kind":"entry"') || !line.includes(`"ledger_entry":${seq}`))
        continue;
      const value = JSON.parse(line) as Line;
      if (value.ledger_entry === seq) return value;
    }
    throw new Error(`${path} has no record of entry ${seq}.`);
  }

  #tile(level: TileAddress['level'], index: number): Promise<Uint8Array> {
    const { size } = this.#head;
    const hashes = level === 'entries' ? size : Math.floor(size / TILE_WIDTH ** level);
    const path = tilePath({ level, index, width: Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH) });
    const tile = this.#tiles.get(path) ?? this.#read(path).then((answer) => answer.bytes());
    this.#tiles.set(path, tile);
    return tile;
  }

  /** The root of a tree (RFC 6962) of which one leaf is given, and all other hashes are in tiles. */
  #rootWith(leaf: Uint8Array, place: number): Promise<Uint8Array> {
    const root = async (start: number, end: number): Promise<Uint8Array> => {
      if (end - start === 1 && start === place) return leaf;
      const level = Math.log2(end - start);
      const hasPlace = start <= place && place < end;
      if (!hasPlace && Number.isInteger(level)) return stored(level, start / (end - start));
      const middle = start + 2 ** (Math.ceil(level) - 1);
      return parentOf(await root(start, middle), await root(middle, end));
    };
    const stored = async (level: number, index: number): Promise<Uint8Array> => {
      if (level % 8 > 0)
        return parentOf(await stored(level - 1, index * 2), await stored(level - 1, index * 2 + 1));
      const tile = await this.#tile(level / 8, Math.floor(index / TILE_WIDTH));
      const at = (index % TILE_WIDTH) * 32;
      return tile.subarray(at, at + 32);
    };
    return root(0, this.#head.size);
  }
}

function parentOf(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(concat(Uint8Array.of(1), left, right));
}

function recordedPart({ type }: Entry, line: Line, claimed: URLSearchParams): unknown {
  const names = MEMBERS[type];
  if (!names) return line.record;
  // The line names an event's source by a number. Its id and its address come from the link, and the digest covers them.
  const ofLink = { source: claimed.get('source'), url: claimed.get('url') };
  const all: Line = type === 'event.recorded' ? { ...line, ...ofLink } : line;
  // Only the event of a page has that member.
  const recorded = typeof line.page === 'string' && type === 'event.recorded' ? [...names, 'page'] : names;
  return Object.fromEntries(recorded.map((name) => [name, all[name]]));
}

/** Returns the digests of the objects that a record names. */
export function objectsOf(entry: Entry, record: unknown): Set<string> {
  const named = record as { files?: { sha256: string }[]; [member: string]: unknown };
  const files = named.files ?? [];
  const shown = entry.type === 'page.captured' ? [named.document, named.text, named.picture] : [];
  const all = [named.sha256, named.previous_sha256, ...shown, ...files.map((file) => file.sha256)];
  return new Set(all.filter((each) => typeof each === 'string'));
}
