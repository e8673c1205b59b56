import { hash } from 'node:crypto';
import {
  announcementPath,
  announcementText,
  FILES,
  LIST,
  type ListedFile,
  linesOf,
  listText,
  PLACES,
  partOf,
  partPath,
  placeInList,
} from '../../shared/proof/ledger/fileList.ts';
import { TILE_WIDTH, tilePath } from '../../shared/proof/ledger/tree.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import { keysOf } from '../ledger/detectRollback.ts';
import { readKeyChanges } from '../ledger/nodeKey.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import {
  type CopiedFile,
  changedPlaces,
  copiedFile,
  countListedFiles,
  deleteCopiedFile,
  expectCopiedFile,
  filesInState,
  filesOfList,
  listedFiles,
  listedFilesAfter,
  setCopiedFile,
  setFileGone,
  setListed,
} from '../store/sqlite/node/copiedFiles.ts';
import { type CopyRow, copyById } from '../store/sqlite/node/copies.ts';
import { type CopyServices, claimBytes, readClaim, requireSameHistory } from './claim.ts';
import {
  CLAIM,
  encryptedDigest,
  LEFT_OUT,
  newTiles,
  objectPath,
  recordsFiles,
  statePath,
} from './copyPaths.ts';
import { PAGE_FILES, PAGE_FOLDERS } from './pages/pagePaths.ts';
import { CopyError, type CopyTarget, type Payload } from './targets/target.ts';

/** A file that is sent to a copy. */
export interface SentFile {
  path: string;
  payload: Payload;
  sha256: string;
  type: string;
}

/** A copy that is being synced. */
export interface SyncedCopy {
  services: CopyServices;
  copy: CopyRow;
  target: CopyTarget;
  files: CopyFiles;
  signal: AbortSignal;
}

/** The files that are announced and sent together, and their bytes in memory. */
const BATCH_FILES = 500;
const BATCH_BYTES = 8_388_608;
/** After so many files, those sent are brought to stable storage, so that memory stays bounded. */
const SETTLE_AFTER_FILES = 10_000;
/** The files in one part of the list. The number of parts is a power of two. */
const PART_FILES = 2_000;
/** The places of the files of the list itself; the parts have those between. */
const LIST_PLACE = -(2 ** 40);
const NEXT_PLACE = -(2 ** 41);

const TEXT = 'text/plain; charset=utf-8';

/** The paths of files that are replaced by others as the ledger grows. */
const PASSING = /^state\/|^records\/\d+-(?!\d*000\.)|\.p\/\d+$/;

/**
 * The files of a copy besides its objects, and their signed list. What a sync writes is announced first: a copy is
 * complete, and can be verified, at any moment. The database knows what the copy has, so that nothing is read back for
 * the list.
 */
export class CopyFiles {
  readonly #services: CopyServices;
  readonly #id: string;
  readonly #target: CopyTarget;
  readonly #signal: AbortSignal | undefined;
  /** The digest of the copy's list, undefined if it has none; once it was asked for. */
  #list: Promise<string | undefined> | undefined;
  #batch: SentFile[] = [];
  /** Sent, but perhaps not on stable storage. */
  readonly #unsettled: ListedFile[] = [];
  #batchBytes = 0;

  constructor(services: CopyServices, id: string, target: CopyTarget, signal?: AbortSignal) {
    this.#services = services;
    this.#id = id;
    this.#target = target;
    this.#signal = signal;
  }

  /** Sends a file together with others; `flush` sends those that are left. @throws CopyError */
  async send(file: Omit<SentFile, 'sha256'> & { sha256?: string }): Promise<void> {
    const { payload } = file;
    const bytes = 'bytes' in payload ? payload.bytes : undefined;
    const sha256 = file.sha256 ?? hash('sha256', bytes ?? '');
    this.#batch.push({ ...file, sha256 });
    this.#batchBytes += bytes?.length ?? 0;
    if (this.#batch.length >= BATCH_FILES || this.#batchBytes >= BATCH_BYTES) await this.sendBatch();
  }

  /** @throws CopyError; the signal's reason */
  async sendBatch(): Promise<void> {
    const files = this.#batch;
    [this.#batch, this.#batchBytes] = [[], 0];
    if (files.length === 0) return;
    this.#signal?.throwIfAborted();
    const list = await this.#listDigest();
    if (list !== undefined) await this.#announce(list, files);
    await this.#services.store.write((database) => {
      for (const { path, sha256 } of files)
        expectCopiedFile(database, this.#id, { ...keyOf(path), sha256, state: 'gone' });
    });
    await this.#putAll(files);
    for (const { path, sha256 } of files) this.#unsettled.push({ path, sha256 });
    if (this.#unsettled.length >= SETTLE_AFTER_FILES) await this.flush();
  }

  /** Brings what was sent to stable storage and records it. Until then a crash leaves files that are to be removed. */
  async flush(): Promise<void> {
    await this.sendBatch();
    await this.#target.flush();
    await this.#record(this.#unsettled.splice(0));
  }

  /** Whether the copy is known to have a file. */
  has(path: string): boolean {
    const file = copiedFile(this.#services.store.read, { copy: this.#id, ...keyOf(path) });
    return file !== undefined && file.state !== 'gone';
  }

  /** Whether this node wrote a file: the copy has it, or it is still to be removed. */
  wrote(path: string): boolean {
    return copiedFile(this.#services.store.read, { copy: this.#id, ...keyOf(path) }) !== undefined;
  }

  async #record(files: readonly ListedFile[]): Promise<void> {
    if (files.length === 0) return;
    await this.#services.store.write((database) => {
      for (const { path, sha256 } of files) {
        const state = PASSING.test(path) ? 'passing' : 'kept';
        setCopiedFile(database, this.#id, { ...keyOf(path), sha256, state });
      }
    });
  }

  /** Records a file that the copy has already. */
  async adopt(path: string, sha256: string): Promise<void> {
    await this.#record([{ path, sha256 }]);
  }

  /** Has files removed after the next list, which no longer has them. */
  async removeLater(paths: readonly string[]): Promise<void> {
    await this.#services.store.write((database) => {
      for (const path of paths) setFileGone(database, this.#id, keyOf(path));
    });
  }

  /** Has all pages removed that are not sent again. */
  async removePagesLater(): Promise<void> {
    for await (const files of this.listed())
      await this.removeLater(files.map(({ path }) => path).filter(isPage));
  }

  /** Yields the files that belong in the list, in batches. */
  async *listed(): AsyncGenerator<CopiedFile[]> {
    const { read } = this.#services.store;
    let last: CopiedFile | undefined;
    for (;;) {
      const files = listedFilesAfter(read, this.#id, last, BATCH_FILES);
      if (files.length === 0) return;
      yield files;
      last = files.at(-1);
    }
  }

  async #putAll(files: readonly SentFile[]): Promise<void> {
    const left = [...files];
    const sendNext = async (): Promise<void> => {
      for (let file = left.shift(); file; file = left.shift()) {
        this.#signal?.throwIfAborted();
        const { path, payload, type } = file;
        await this.#target.put(path, payload, { type, signal: this.#signal });
      }
    };
    const ended = await Promise.allSettled(
      Array.from({ length: Math.min(this.#target.concurrency, files.length) }, sendNext),
    );
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
  }

  /** Says, signed, which objects are sent next, to a copy that is complete: no record there names them yet. */
  async announceObjects(digests: readonly string[]): Promise<void> {
    const list = await this.#listDigest();
    if (list === undefined) return;
    for (let first = 0; first < digests.length; first += BATCH_FILES) {
      const batch = digests.slice(first, first + BATCH_FILES);
      await this.#announce(
        list,
        batch.map((sha256) => ({ path: objectPath(sha256), sha256 })),
      );
    }
  }

  #listDigest(): Promise<string | undefined> {
    this.#list ??= this.#target.digestOf(LIST, this.#signal).then((found) => found?.sha256);
    return this.#list;
  }

  /** Says, signed, that files may from now on be as they are here, whatever a list says. */
  async #announce(list: string, files: readonly ListedFile[]): Promise<void> {
    const note = announcement(this.#services, list, files);
    if (note === null) return;
    await this.#putOwn(
      { place: NEXT_PLACE, path: announcementPath(note.sha256), sha256: note.sha256 },
      note.bytes,
    );
    await this.#target.flush();
  }

  async #putOwn(file: Pick<CopiedFile, 'place' | 'path' | 'sha256'>, bytes: Buffer): Promise<void> {
    const { store } = this.#services;
    await store.write((database) => setCopiedFile(database, this.#id, { ...file, state: 'kept' }));
    await this.#target.put(file.path, { bytes }, { type: TEXT, signal: this.#signal });
  }

  /**
   * Writes the list of all files, for a checkpoint that is sent next, or is there already. An archive without its private
   * key cannot sign one.
   *
   * @param isWhole whether to write all parts, not only those that changed
   */
  async writeList(note: string, { isWhole = false } = {}): Promise<void> {
    await this.flush();
    const { store, checkpoints } = this.#services;
    const [, size, root = ''] = note.split('\n', 3);
    await this.#replacePassing(Number(size));
    const parts = await this.#writeParts(isWhole);
    const files = countListedFiles(store.read, this.#id);
    const text = listText(checkpoints.key.name, { size: Number(size), root, files, parts });
    const list = checkpoints.signNote(text);
    if (list === null) return;
    const sha256 = hash('sha256', list);
    const gone = filesInState(store.read, this.#id, 'gone').filter(({ place }) => place >= 0);
    for (let first = 0; first < gone.length; first += BATCH_FILES)
      await this.#announce(sha256, gone.slice(first, first + BATCH_FILES));
    await this.#target.flush();
    await this.#putOwn({ place: LIST_PLACE, path: LIST, sha256 }, Buffer.from(list));
    await this.#target.flush();
    this.#list = Promise.resolve(sha256);
  }

  /** Gives up the partial files of records, states and partial tiles that a ledger of this size no longer has. */
  async #replacePassing(size: number): Promise<void> {
    const last = size > 0 ? [...recordsFiles(size, size)] : [];
    const needed = new Set([statePath(size), ...last.map(({ path }) => path)]);
    const partialTiles = [...newTiles(0, size)]
      .filter(({ width }) => width < TILE_WIDTH)
      .map((tile) => `${tilePath({ ...tile, width: TILE_WIDTH })}.p/`);
    const isNeeded = (path: string) =>
      needed.has(path) ||
      // C2SP tlog-tiles: a partial tile may be removed once the full one is there.
      partialTiles.some((beginning) => path.startsWith(beginning));
    const passing = filesInState(this.#services.store.read, this.#id, 'passing');
    await this.removeLater(passing.map(({ path }) => path).filter((path) => !isNeeded(path)));
  }

  /** Writes the parts in which a file changed, and returns all. */
  async #writeParts(isWhole: boolean): Promise<ListedFile[]> {
    const { read } = this.#services.store;
    const count = partsFor(countListedFiles(read, this.#id));
    const own = filesOfList(read, this.#id).filter((file) => isPart(file) && file.state === 'kept');
    const before = new Map(own.map((file) => [file.place, file]));
    const isSame = !isWhole && before.size === count && copyById(read, this.#id)?.is_listed === 1;
    const changed = new Set(changedPlaces(read, this.#id).map((place) => partOf(place, count)));
    const parts: ListedFile[] = [];
    for (let index = 0; index < count; index += 1) {
      this.#signal?.throwIfAborted();
      const place = -1 - index;
      const kept = before.get(place);
      before.delete(place);
      if (isSame && kept && !changed.has(index)) {
        parts.push({ path: kept.path, sha256: kept.sha256 });
        continue;
      }
      const range = { from: (index * PLACES) / count, to: ((index + 1) * PLACES) / count };
      const bytes = Buffer.from(linesOf(listedFiles(read, { copy: this.#id, ...range })));
      const sha256 = hash('sha256', bytes);
      const part = { path: partPath(sha256), sha256 };
      if (kept) await this.#giveUpOwn(kept);
      await this.#putOwn({ place, ...part }, bytes);
      parts.push(part);
    }
    for (const file of before.values()) await this.#giveUpOwn(file);
    return parts;
  }

  async #giveUpOwn(file: CopiedFile): Promise<void> {
    await this.#services.store.write((database) => setFileGone(database, this.#id, file));
  }

  /** Sends what was added, and brings the list up to date, of a copy that has one. @param note its checkpoint */
  async update(note: string | undefined): Promise<void> {
    await this.flush();
    if (note === undefined || copyById(this.#services.store.read, this.#id)?.is_listed !== 1) return;
    await this.writeList(note);
    await this.removeRest();
  }

  /**
   * Removes what the copy no longer needs, after its checkpoint. From a copy whose files are listed for the first time,
   * everything else is removed.
   */
  async removeRest(): Promise<void> {
    const { store } = this.#services;
    const own = filesOfList(store.read, this.#id);
    const needed = new Set(
      own.filter((file) => isPart(file) && file.state === 'kept').map(({ path }) => path),
    );
    // Encrypted objects are removed with their older versions: see `purgeEncrypted`.
    const gone = filesInState(store.read, this.#id, 'gone').filter(
      ({ path }) => encryptedDigest(path) === undefined,
    );
    const rest = [...gone, ...own.filter(isAnnouncement)];
    for (let first = 0; first < rest.length; first += BATCH_FILES) {
      const batch = rest.slice(first, first + BATCH_FILES);
      // Two parts with the same files have one path.
      await this.#target.remove(batch.map(({ path }) => path).filter((path) => !needed.has(path)));
      await store.write((database) => {
        for (const file of batch) deleteCopiedFile(database, { copy: this.#id, ...file });
      });
    }
    if (copyById(store.read, this.#id)?.is_listed === 0) await this.#removeUnknown();
    await store.write((database) => setListed(database, this.#id));
  }

  async #removeUnknown(): Promise<void> {
    const own = new Set(filesOfList(this.#services.store.read, this.#id).map(({ path }) => path));
    let unknown: string[] = [];
    for await (const { path } of this.#target.list('', this.#signal)) {
      const isUnknown = path.startsWith(FILES) ? !own.has(path) : isListed(path) && !this.has(path);
      if (isUnknown) unknown.push(path);
      if (unknown.length < BATCH_FILES) continue;
      await this.#target.remove(unknown);
      unknown = [];
    }
    await this.#target.remove(unknown);
  }
}

/** Whether a file announces what is sent next, before the list says it. */
export function isAnnouncement({ place }: CopiedFile): boolean {
  return place === NEXT_PLACE;
}

function announcement(
  { checkpoints }: Pick<CopyServices, 'checkpoints'>,
  amends: string,
  files: readonly ListedFile[],
): { bytes: Buffer; sha256: string } | null {
  const listed = files.map(({ path, sha256 }) => ({ path, sha256 }));
  const note = checkpoints.signNote(announcementText(checkpoints.key.name, { amends, files: listed }));
  return note === null ? null : { bytes: Buffer.from(note), sha256: hash('sha256', note) };
}

/** Announces whose copy a place is, before it is taken over. */
async function announceClaim(
  services: Pick<CopyServices, 'checkpoints'>,
  target: CopyTarget,
  claim: Buffer,
): Promise<void> {
  const list = await target.digestOf(LIST);
  const note = list && announcement(services, list.sha256, [{ path: CLAIM, sha256: hash('sha256', claim) }]);
  if (!note) return;
  await target.put(announcementPath(note.sha256), { bytes: note.bytes }, { type: TEXT });
  await target.flush();
}

/** Returns the digest of a file that was sent to a copy; undefined if it is not known. */
export function sentDigest(read: ReadDatabase, copy: string, path: string): string | undefined {
  return copiedFile(read, { copy, ...keyOf(path) })?.sha256;
}

function keyOf(path: string): { place: number; path: string } {
  return { place: placeInList(path, nodeCrypto), path };
}

function partsFor(files: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(files / PART_FILES)));
}

function isPart({ place }: CopiedFile): boolean {
  return place < 0 && place > LIST_PLACE;
}

export function isPage(path: string): boolean {
  return PAGE_FILES.includes(path) || PAGE_FOLDERS.some((folder) => path.startsWith(folder));
}

/** Whether a node writes such a file and lists it. */
function isListed(path: string): boolean {
  const isOther = /^(records|state|tile)\/|^archive\/[0-9a-f]{64}\.json$/.test(path);
  return isPage(path) || isOther || path === LEFT_OUT || encryptedDigest(path) !== undefined;
}

/**
 * Makes a place a copy that this data folder writes to. It must be empty, or hold a copy of this archive, which is taken
 * over: another machine that wrote to it is refused from then on.
 *
 * @throws CopyError
 */
export async function claimTarget(services: CopyServices, writer: string, target: CopyTarget): Promise<void> {
  const { store, checkpoints } = services;
  const key = checkpoints.key.verifierKey;
  const claim = await readClaim(target);
  if (claim && !keysOf(key, readKeyChanges(store.read)).includes(claim.key))
    throw new CopyError(
      `${target.name} holds the copy of another archive, ${claim.node}. Choose another place.`,
    );
  if (claim) await requireSameHistory(services, target);
  else await requireEmpty(target);
  const bytes = claimBytes(services, writer);
  if (claim) await announceClaim(services, target, bytes);
  await target.put(CLAIM, { bytes }, { type: 'application/json' });
  await target.flush();
  // Two programs may have written at once. The one whose claim is there continues.
  if ((await readClaim(target))?.writer !== writer)
    throw new CopyError(
      `Another program started a copy in ${target.name} at the same time. Choose another place.`,
    );
}

async function requireEmpty(target: CopyTarget): Promise<void> {
  for await (const { path } of target.list(''))
    throw new CopyError(`${target.name} is not empty: it holds ${path}. Choose an empty place.`);
}
