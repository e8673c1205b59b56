import { TILE_WIDTH, type TileAddress } from '../../shared/proof/ledger/tree.ts';

/** The file of a copy that says whose copy it is and which data folder writes to it. */
export const CLAIM = 'strongroom.json';

/** The paths of a copy. `docs/static-archive.md` documents them. */

/** The signed checkpoint. It is written last: everything it covers is in the copy. */
export const CHECKPOINT = 'checkpoint';
/** The owner's key, encrypted with a passphrase, if the owner wants it there. */
export const KEY = 'key.age';
export const OBJECTS = 'archive/';
export const RECORDS = 'records/';
export const STATE = 'state/';

/** The number of ledger entries whose records are in one file. */
export const RECORDS_PER_FILE = 1_000;

export function objectPath(sha256: string): string {
  return `${OBJECTS}${sha256}`;
}

/** The digests of the objects that a copy does not have, because they are withheld and readers may look into it. */
export const LEFT_OUT = 'withheld.txt';

/** Versions before 1.0 encrypted withheld objects into files in this folder. */
export const ENCRYPTED = 'withheld/';
const ENCRYPTED_OBJECT = /^withheld\/([0-9a-f]{64})\.age$/;

/** Returns the digest of the object that an earlier version encrypted into a file, or undefined. */
export function encryptedDigest(path: string): string | undefined {
  return ENCRYPTED_OBJECT.exec(path)?.[1];
}

/** Facts about an object: its size and its first retrievals. Not covered by the ledger; the records are. */
export function metadataPath(sha256: string): string {
  return `${OBJECTS}${sha256}.json`;
}

/** A file of records: those of the ledger entries `first` to `last`. */
interface RecordsFile {
  path: string;
  first: number;
  last: number;
}

/**
 * The files of records that a ledger of `size` entries has from entry `from` on. Only the last one may be partial. They are
 * not held in memory: a copy can claim any size.
 */
export function* recordsFiles(size: number, from = 1): Generator<RecordsFile> {
  const start = Math.floor((from - 1) / RECORDS_PER_FILE) * RECORDS_PER_FILE + 1;
  for (let first = start; first <= size; first += RECORDS_PER_FILE) {
    const last = Math.min(first + RECORDS_PER_FILE - 1, size);
    yield { path: `${RECORDS}${first}-${last}.jsonl`, first, last };
  }
}

/** What a ledger of this size has beside its entries: the state of the sources, the rounds and the noise marks. */
export function statePath(size: number): string {
  return `${STATE}${size}.jsonl`;
}

/** The tiles that a ledger of `size` entries has and one of `from` entries does not (C2SP tlog-tiles). */
export function* newTiles(from: number, size: number): Generator<TileAddress> {
  yield* tilesOf('entries', from, size);
  for (let level = 0, [before, now] = [from, size]; now > 0; level += 1) {
    yield* tilesOf(level, before, now);
    before = Math.floor(before / TILE_WIDTH);
    now = Math.floor(now / TILE_WIDTH);
  }
}

function* tilesOf(level: TileAddress['level'], before: number, now: number): Generator<TileAddress> {
  if (before === now) return;
  for (let index = Math.floor(before / TILE_WIDTH); index * TILE_WIDTH < now; index += 1)
    yield { level, index, width: Math.min(TILE_WIDTH, now - index * TILE_WIDTH) };
}
