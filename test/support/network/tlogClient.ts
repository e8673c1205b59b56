import { createPublicKey, hash, verify } from 'node:crypto';

/**
 * A client of static logs, written from C2SP tlog-tiles, tlog-checkpoint and signed-note, and RFC 6962, section 2.1. It
 * knows nothing of Strongroom and imports nothing of it: what it finds is what a stranger finds.
 */

const WIDTH = 256;
const HASH_BYTES = 32;

export interface SignedTree {
  origin: string;
  size: number;
  root: Buffer;
}

/** Fetches what lies at a path below the log's prefix. It rejects where nothing does. */
export type Fetch = (path: string) => Promise<Buffer>;

/** Opens a signed note by its verifier key and reads it as a checkpoint. @throws Error where it is no such thing */
export function openSignedTree(note: string, verifierKey: string): SignedTree {
  const [name = '', id = '', ...rest] = verifierKey.trim().split('+');
  const key = Buffer.from(rest.join('+'), 'base64');
  const keyId = sha256(Buffer.from(`${name}\n`), key).subarray(0, 4);
  if (key[0] !== 1 || key.length !== 33 || keyId.toString('hex') !== id)
    throw new Error('not an Ed25519 key');
  const end = note.indexOf('\n\n') + 1;
  const text = note.slice(0, end);
  const line = note
    .slice(end + 1)
    .split('\n')
    .find((each) => each.startsWith(`— ${name} `));
  const signature = Buffer.from(line?.split(' ')[2] ?? '', 'base64');
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.subarray(1).toString('base64url') };
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
  if (
    !signature.subarray(0, 4).equals(keyId) ||
    !verify(null, Buffer.from(text), publicKey, signature.subarray(4))
  )
    throw new Error('not signed by this key');
  const [origin = '', size = '', root = ''] = text.split('\n');
  if (!/^(0|[1-9]\d*)$/.test(size)) throw new Error(`no size: ${size}`);
  return { origin, size: Number(size), root: Buffer.from(root, 'base64') };
}

/** The address of a tile below the prefix of the log. */
export function tilePath(level: number | 'entries', index: number, width = WIDTH): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  const elements = groups.map((group, place) => (place < groups.length - 1 ? `x${group}` : group));
  return `tile/${level}/${elements.join('/')}${width < WIDTH ? `.p/${width}` : ''}`;
}

/** The tiles of a level of the tree of this size: a width for each, in order. */
function tileWidths(size: number, level: number): number[] {
  const hashes = Math.floor(size / WIDTH ** level);
  const full = Array.from({ length: Math.floor(hashes / WIDTH) }, () => WIDTH);
  return hashes % WIDTH === 0 ? full : [...full, hashes % WIDTH];
}

/** The log of one size. Each tile of it is fetched once. */
export class TiledTree {
  readonly size: number;
  readonly #fetch: Fetch;
  readonly #tiles = new Map<string, Promise<Buffer[]>>();

  constructor(size: number, fetch: Fetch) {
    this.size = size;
    this.#fetch = fetch;
  }

  /** The paths that were fetched. */
  get fetched(): string[] {
    return [...this.#tiles.keys()];
  }

  tile(level: number, index: number): Promise<Buffer[]> {
    const width = tileWidths(this.size, level)[index];
    if (width === undefined) throw new Error(`a tree of ${this.size} has no tile ${index} of level ${level}`);
    const path = tilePath(level, index, width);
    const tile = this.#tiles.get(path) ?? this.#fetch(path).then((bytes) => hashesOf(bytes, width));
    this.#tiles.set(path, tile);
    return tile;
  }

  /** MTH(D[from:to]), where the range is one that RFC 6962 splits a tree into. */
  async hash(from: number, to: number): Promise<Buffer> {
    const count = to - from;
    if (count === 0) return sha256();
    if (!Number.isInteger(Math.log2(count))) {
      const middle = from + splitOf(count);
      return parent(await this.hash(from, middle), await this.hash(middle, to));
    }
    const level = Math.floor(Math.log2(count) / 8);
    const span = WIDTH ** level;
    const tile = await this.tile(level, Math.floor(from / span / WIDTH));
    const first = (from / span) % WIDTH;
    return completeRoot(tile.slice(first, first + count / span));
  }

  /** PATH(m, D[n]), nearest the leaf first. */
  async inclusionPath(index: number, from = 0, to = this.size): Promise<Buffer[]> {
    if (to - from === 1) return [];
    const middle = from + splitOf(to - from);
    return index < middle
      ? [...(await this.inclusionPath(index, from, middle)), await this.hash(middle, to)]
      : [...(await this.inclusionPath(index, middle, to)), await this.hash(from, middle)];
  }

  /** SUBPROOF(m, D[n], b). */
  async consistencyPath(older: number, from = 0, to = this.size, isKnown = true): Promise<Buffer[]> {
    if (older === to) return isKnown ? [] : [await this.hash(from, to)];
    const middle = from + splitOf(to - from);
    return older <= middle
      ? [...(await this.consistencyPath(older, from, middle, isKnown)), await this.hash(middle, to)]
      : [...(await this.consistencyPath(older, middle, to, false)), await this.hash(from, middle)];
  }

  /** Holds every tile to what stands above it, up to the root. @throws Error at the first that differs */
  async checkTiles(root: Buffer): Promise<void> {
    for (let level = 0; WIDTH ** level <= this.size; level += 1) {
      for (const [index, width] of tileWidths(this.size, level).entries()) {
        const tile = await this.tile(level, index);
        if (width < WIDTH) continue;
        const above = (await this.tile(level + 1, Math.floor(index / WIDTH)))[index % WIDTH];
        if (!above?.equals(completeRoot(tile))) throw new Error(`tile ${level}/${index} has another root`);
      }
    }
    if (!root.equals(await this.hash(0, this.size))) throw new Error('the tree has another root');
  }

  /** The entries of a tile of level 0, each held to its hash. @throws Error at the first that differs */
  async readBundle(index: number): Promise<string[]> {
    const tile = await this.tile(0, index);
    const entries = entriesOf(await this.#fetch(tilePath('entries', index, tile.length)));
    if (entries.length !== tile.length) throw new Error(`bundle ${index} has ${entries.length} entries`);
    for (const [place, entry] of entries.entries()) {
      if (!tile[place]?.equals(leafHashOf(entry)))
        throw new Error(`entry ${index * WIDTH + place} is another`);
    }
    return entries.map(String);
  }

  /** The whole log, every byte of it verified. @throws Error at the first that differs */
  async readEntries(root: Buffer): Promise<string[]> {
    await this.checkTiles(root);
    const bundles = await Promise.all(tileWidths(this.size, 0).map((_, index) => this.readBundle(index)));
    return bundles.flat();
  }
}

/** Whether an audit path leads from a leaf to the root (RFC 9162, section 2.1.3.2). */
export function isIncluded(leaf: Buffer, index: number, { size, root }: SignedTree, path: Buffer[]): boolean {
  let [fn, sn, reached] = [index, size - 1, leaf];
  for (const sibling of path) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      reached = parent(sibling, reached);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else {
      reached = parent(reached, sibling);
    }
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && reached.equals(root);
}

/** Whether a path proves the older tree, not empty, to be the beginning of a newer one (RFC 9162, section 2.1.4.2). */
export function isPrefix(older: SignedTree, newer: SignedTree, path: Buffer[]): boolean {
  if (older.size === newer.size) return path.length === 0 && older.root.equals(newer.root);
  const [first, ...rest] = Number.isInteger(Math.log2(older.size)) ? [older.root, ...path] : path;
  if (first === undefined) return false;
  let [fn, sn, fr, sr] = [older.size - 1, newer.size - 1, first, first];
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  for (const sibling of rest) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      [fr, sr] = [parent(sibling, fr), parent(sibling, sr)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else {
      sr = parent(sr, sibling);
    }
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && fr.equals(older.root) && sr.equals(newer.root);
}

export function leafHashOf(entry: string | Buffer): Buffer {
  return sha256(Buffer.of(0), Buffer.from(entry));
}

function parent(left: Buffer, right: Buffer): Buffer {
  return sha256(Buffer.of(1), left, right);
}

function completeRoot(hashes: Buffer[]): Buffer {
  if (hashes.length === 1) return hashes[0] as Buffer;
  const middle = hashes.length / 2;
  return parent(completeRoot(hashes.slice(0, middle)), completeRoot(hashes.slice(middle)));
}

/** The largest power of two that is smaller than a count of two or more. */
function splitOf(count: number): number {
  return 2 ** Math.floor(Math.log2(count - 1));
}

function hashesOf(bytes: Buffer, width: number): Buffer[] {
  if (bytes.length !== width * HASH_BYTES) throw new Error(`a tile of ${width} has ${bytes.length} bytes`);
  return Array.from({ length: width }, (_, place) =>
    bytes.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES),
  );
}

function entriesOf(bundle: Buffer): Buffer[] {
  const entries: Buffer[] = [];
  for (let at = 0; at < bundle.length; ) {
    const end = at + 2 + bundle.readUInt16BE(at);
    if (end > bundle.length) throw new Error('a bundle ends within an entry');
    entries.push(bundle.subarray(at + 2, end));
    at = end;
  }
  return entries;
}

function sha256(...parts: Buffer[]): Buffer {
  return hash('sha256', Buffer.concat(parts), 'buffer');
}
