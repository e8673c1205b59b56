import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { objectsOf, type RecordedRetrieval } from '../../shared/collection/retrieval.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import { TILE_WIDTH, type TileAddress, tilePath } from '../../shared/proof/tree.ts';
import { checkDump, type DumpHead } from '../dump/checkDump.ts';
import { DumpError } from '../dump/dumpFile.ts';
import { entryText } from '../ledger/entry.ts';
import { framedLeaf, GrowingTree, leafHash } from '../ledger/tree.ts';
import { inParallel } from '../runtime/inParallel.ts';
import { ExpectedFiles } from '../store/sqlite/node/expectedFiles.ts';
import { assembleDump, folderForLargeFiles } from './assembleDump.ts';
import { readCopiedNote } from './claim.ts';
import {
  CHECKPOINT,
  CLAIM,
  encryptedDigest,
  encryptedPath,
  OBJECTS,
  objectPath,
  recordsFiles,
  statePath,
  WITHHELD,
} from './copyPaths.ts';
import { isOfSystem } from './files/copyFiles.ts';
import { readFileList } from './files/readFileList.ts';
import { type CopyTarget, InvalidCopyError } from './targets/target.ts';

/** What verifying a copy found. */
export interface VerifiedCopy {
  ok: boolean;
  /** undefined if the records could not be verified because files are damaged or missing. */
  head: DumpHead | undefined;
  /** Why the records could not be verified. */
  invalid: Error | undefined;
  /** Whether the copy has a list of its files. One that an earlier release made gets it with its next sync. */
  isListed: boolean;
  objects: number;
  bytes: number;
  /** Objects that the copy holds encrypted, because they are withheld. The signed list has the digests of their files. */
  withheld: number;
  /** Objects that the ledger records as given up. The copy need not hold them. */
  released: number;
  /** Objects by their digest, and other files by their path. */
  damaged: string[];
  missing: string[];
  /** Files that no node wrote there. They are only known if there is a list. */
  extra: string[];
}

interface Run {
  signal: AbortSignal;
  progress: (bytes: number) => void;
}

/**
 * Verifies a copy without a node: the signature of its checkpoint, every record against its ledger entry, every tile
 * against the entries, every object that the records name against its digest, and every other file against the signed list.
 * Objects that the ledger records as damaged or as released may be missing, and those that the list has encrypted.
 *
 * @throws CopyError, DumpError
 */
export async function verifyCopy(target: CopyTarget, run: Run): Promise<VerifiedCopy> {
  const folder = await mkdtemp(join(folderForLargeFiles(), 'strongroom-copy-'));
  const expected = new ExpectedFiles(join(folder, 'expected.db'));
  try {
    const { note, size } = await readCopiedNote(target);
    const keys = await keysIn(target, statePath(size));
    const list = await readFileList(target, { note, keys }, expected);
    const result: VerifiedCopy = {
      ok: false,
      head: undefined,
      invalid: undefined,
      isListed: list.isListed,
      objects: 0,
      bytes: 0,
      withheld: 0,
      released: 0,
      damaged: [...list.damaged],
      missing: [...list.missing],
      extra: [],
    };
    try {
      const { chunks } = await assembleDump(target, folder, run.signal);
      const { head, released } = await readDump(chunks, expected);
      result.head = head;
      result.released = released;
    } catch (error) {
      if (!(error instanceof DumpError || error instanceof InvalidCopyError)) throw error;
      result.invalid = error;
    }
    result.withheld = expectEncrypted(expected);
    await compare(target, expected, result, { ...run, isComplete: list.isComplete });
    if (list.isComplete) await findExtra(target, { expected, size, result, ...run });
    const { invalid, damaged, missing, extra } = result;
    // A file that differs says more than what its records are found to lack.
    if (invalid && damaged.length + missing.length === 0) throw invalid;
    for (const each of [damaged, missing, extra]) each.sort();
    result.ok = !invalid && damaged.length + missing.length + extra.length === 0;
    return result;
  } finally {
    expected.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The keys that a copy names, in its state and in the file that says whose it is. Which of them signed it is verified. */
async function keysIn(target: CopyTarget, state: string): Promise<string[]> {
  const keys: string[] = [];
  for (const path of [state, CLAIM]) {
    const stream = await target.read(path, undefined, { start: 0, end: MAX_HEADER_BYTES - 1 });
    if (!stream) continue;
    const [line = ''] = (await buffer(stream)).toString().split('\n', 1);
    const key = /"key":("[^"\\]{1,1000}")/.exec(line)?.[1];
    if (key !== undefined) keys.push(JSON.parse(key) as string);
  }
  return keys;
}

const MAX_HEADER_BYTES = 65_536;

/** Expects no object in the clear that the signed list has encrypted. Returns their number. */
function expectEncrypted(expected: ExpectedFiles): number {
  let count = 0;
  for (const { path } of expected.below(WITHHELD)) {
    const sha256 = encryptedDigest(path);
    if (sha256 === undefined) continue;
    expected.remove(objectPath(sha256));
    count += 1;
  }
  return count;
}

/** Hashes all files that must be there. */
async function compare(
  target: CopyTarget,
  expected: ExpectedFiles,
  result: VerifiedCopy,
  { signal, progress, isComplete }: Run & { isComplete: boolean },
): Promise<void> {
  await inParallel(expected, target.concurrency, async ({ path, sha256 }) => {
    signal.throwIfAborted();
    const isObject = path === objectPath(sha256 ?? '');
    const found = await target.digestOf(path, signal, progress);
    if (!found && isObject && !isComplete && (await target.digestOf(encryptedPath(sha256 ?? ''), signal))) {
      // Without the list, its file cannot be verified, but it is not missing.
      result.withheld += 1;
      return;
    }
    const name = isObject ? path.slice(OBJECTS.length) : path;
    if (!found) result.missing.push(name);
    else if (found.sha256 !== sha256 && !expected.isAllowed(path, found.sha256)) result.damaged.push(name);
    if (!isObject) return;
    result.objects += 1;
    result.bytes += found?.bytes ?? 0;
  });
}

const NAMED_BY_DIGEST = /^(?:archive|files)\/([0-9a-f]{64})$/;

/** Finds files that no node wrote there. */
async function findExtra(
  target: CopyTarget,
  { expected, size, result, signal }: Run & { expected: ExpectedFiles; size: number; result: VerifiedCopy },
): Promise<void> {
  // The checkpoint covers them, also if a sync was killed before it wrote its own.
  const covered = new Set([
    CHECKPOINT,
    statePath(size),
    ...[...recordsFiles(size, size)].map(({ path }) => path),
  ]);
  for await (const { path } of target.list('', signal)) {
    if (covered.has(path) || isOfSystem(path) || expected.has(path)) continue;
    const found = await target.digestOf(path, signal);
    if (!found || expected.isAllowed(path, found.sha256)) continue;
    // A sync that was killed leaves objects that no record names yet, and parts of a list: both are named by their digest.
    const [, named] = NAMED_BY_DIGEST.exec(path) ?? [];
    if (named === found.sha256) continue;
    // Without the records it is not known which objects belong here.
    if (named !== undefined && path.startsWith(OBJECTS) && result.invalid) result.damaged.push(named);
    else result.extra.push(path);
  }
}

/**
 * Checks a dump and adds its tiles, and the objects that its records name, but those that it records as damaged, as
 * released or as never received.
 */
async function readDump(
  dump: AsyncIterable<Buffer>,
  expected: ExpectedFiles,
): Promise<{ head: DumpHead; released: number }> {
  const tiles = new TileDigests();
  const released = new Set<string>();
  // The bytes of a mirrored record that the peer did not give.
  const absent: string[] = [];
  const damages = new Map<number, string>();
  const name = (sha256: string) => expected.add(objectPath(sha256), sha256);
  const lines = checkDump(dump);
  let step = await lines.next();
  for (; !step.done; step = await lines.next()) {
    const { kind, value } = step.value;
    if (kind === 'entry') tiles.add(value as unknown as LedgerEntry);
    else if (kind === 'pack') {
      const { files } = value.record as { files: { sha256: string }[] };
      for (const { sha256 } of files) name(sha256);
    } else if (kind === 'retrieval') {
      for (const sha256 of objectsOf(value as unknown as RecordedRetrieval)) name(sha256);
    } else if (kind === 'object_damage') damages.set(Number(value.ledger_entry), String(value.sha256));
    else if (kind === 'object_restoration') damages.delete(Number(value.damage));
    else if (kind === 'object_released') released.add(String(value.sha256));
    else if (kind === 'object_absent') absent.push(String(value.sha256));
  }
  for (const sha256 of [...damages.values(), ...released, ...absent]) expected.remove(objectPath(sha256));
  for (const { path, sha256 } of tiles.finish()) expected.add(path, sha256);
  return { head: step.value, released: released.size };
}

/** A tile as it must be. */
interface TileDigest {
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
