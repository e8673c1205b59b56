import { bagWords } from '../../../../shared/archive/bagFiles.ts';
import { MAX_EVIDENCE_BYTES } from '../../../../shared/proof/evidence/verifyEvidence.ts';
import { WRITTEN_PAGES } from '../../../../shared/proof/evidence/writtenPages.ts';
import { bagKindIn, formatIn, isCommonName, type NamedFormat } from '../../../../shared/proof/names.ts';
import { shownPath } from '../../../../shared/proof/words.ts';
import {
  CHECKSUM_LIST_NAME,
  isChecksumList,
  MAX_CHECKSUM_LIST_BYTES,
  parseChecksums,
} from '../../../../shared/values/checksums.ts';
import type { PathFile } from '../../droppedFiles.ts';
import { readSession } from '../../state/session.ts';
import { type FileProof, MAX_BAG_FILE_BYTES } from './bagFile.ts';
import {
  type CheckedNote,
  type CheckpointNote,
  type CheckpointResult,
  checkNote,
  type DroppedList,
  type FileResult,
  isContradicted,
  judge,
  ListIndex,
  parseCheckpointNote,
} from './fileResults.ts';
import { OWN_PAGE } from './ownPage.ts';
import { DigestLookups, pause, WorkerPool } from './workerPool.ts';

/** A list or checkpoint is read as text. */
const MAX_NOTE_BYTES = 65_536;
/** How often the page is drawn again. */
const DRAW_EVERY_MS = 250;
const FILES_DRAWN_PER_MS = 100;
const KNOWN_PAGES = [...(OWN_PAGE ? [OWN_PAGE] : []), ...WRITTEN_PAGES];

interface Queued extends PathFile {
  result: FileResult;
}

interface Progress {
  files: number;
  bytes: number;
  totalBytes: number;
  rate: number;
}

/** What the page shows of a verification. */
export interface VerificationState {
  /** The same array while files are hashed; `version` changes when something in it did. */
  results: FileResult[];
  version: number;
  lists: DroppedList[];
  checkpoints: CheckedNote[];
  progress: Progress | undefined;
  /** Whether the node could not be asked; look-ups are tried again. */
  isOffline: boolean;
}

export function emptyVerification(): VerificationState {
  return { results: [], version: 0, lists: [], checkpoints: [], progress: undefined, isOffline: false };
}

/**
 * One verification: its files, its workers and its look-ups. After it is closed, none of its findings are shown, even if
 * files are still being read.
 */
export class VerificationRun {
  readonly #show: (change: Partial<VerificationState>) => void;
  readonly #createPool: () => WorkerPool;
  readonly #state = emptyVerification();
  readonly #lookups: DigestLookups;
  #index = new ListIndex([]);
  #isClosed = false;
  #drawTimer: ReturnType<typeof setTimeout> | undefined;
  #bytes = 0;
  #hashed = 0;
  #totalBytes = 0;
  #queued = 0;
  #started = 0;
  #nextKey = 1;
  #pool: WorkerPool | undefined;

  constructor(show: (change: Partial<VerificationState>) => void, createPool = () => new WorkerPool()) {
    this.#show = show;
    this.#createPool = createPool;
    this.#lookups = new DigestLookups((isOffline) => {
      if (this.#state.isOffline !== isOffline) this.#set({ isOffline });
      this.#draw();
    });
  }

  #set(change: Partial<VerificationState>): void {
    if (this.#isClosed) return;
    Object.assign(this.#state, change);
    this.#show(change);
  }

  prepare(): WorkerPool {
    // The workers of a page that was opened without a network are loaded again.
    if (!this.#pool || this.#pool.hasFailed) this.#pool = this.#createPool();
    return this.#pool;
  }

  async add(files: readonly PathFile[]): Promise<void> {
    this.#started ||= performance.now();
    const plain: PathFile[] = [];
    for (const dropped of files) {
      if (this.#isClosed) return;
      if (!mayBeSpecial(dropped) || !(await this.#recogniseIfReadable(dropped))) plain.push(dropped);
    }
    if (this.#isClosed) return;
    this.#index = new ListIndex(this.#state.lists);
    const pool = this.prepare();
    this.#forgetUnread(new Set(plain.map(({ path }) => path)));
    const work = plain.map((dropped) => ({
      ...dropped,
      result: this.#newResult(dropped.path, dropped.file.size),
    }));
    this.#queued += work.length;
    this.#judgeAll();
    this.#draw();
    const batches = batchesOf(work);
    const hashNext = async (): Promise<void> => {
      for (const batch of batches) {
        if (this.#isClosed) return;
        await this.#hash(pool, batch);
      }
    };
    await Promise.all(Array.from({ length: pool.size }, hashNext));
    if (this.#isClosed) return;
    this.#addMissing();
    this.#drawNow();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#drawTimer);
    this.#lookups.close();
    this.#pool?.close();
  }

  async #hash(pool: WorkerPool, batch: readonly Queued[]): Promise<void> {
    let read = 0;
    const files = batch.map(({ file }) => file);
    const outcomes = await pool.hash(files, (bytes) => {
      this.#bytes += bytes - read;
      read = bytes;
      this.#draw();
    });
    this.#bytes += files.reduce((sum, { size }) => sum + size, 0) - read;
    for (const [index, { result }] of batch.entries()) {
      const { sha256, error } = outcomes[index] ?? { sha256: null, error: 'The file could not be read.' };
      // Here and not when it is added: with many files, judging all names at once would hold up the page.
      result.proof = unprovenByName(result.path);
      this.#finish(result, sha256, error);
    }
  }

  /** A file that could not be read is added again under its path. */
  #forgetUnread(paths: ReadonlySet<string>): void {
    this.#keep(({ path, verdict }) => verdict !== 'unreadable' || !paths.has(path));
  }

  /** Removes results from the list, which stays the same array. */
  #keep(isKept: (result: FileResult) => boolean): void {
    const { results } = this.#state;
    const kept = results.filter(isKept);
    results.length = 0;
    for (const result of kept) results.push(result);
  }

  #newResult(path: string, bytes: number | null): FileResult {
    const result = this.#emptyResult(path, bytes);
    this.#state.results.push(result);
    this.#totalBytes += bytes ?? 0;
    return result;
  }

  #emptyResult(path: string, bytes: number | null): FileResult {
    return {
      key: this.#nextKey++,
      path,
      bytes,
      sha256: null,
      expected: null,
      list: null,
      proof: null,
      verdict: 'waiting',
      found: null,
      error: null,
    };
  }

  #finish(result: FileResult, sha256: string | null, error: string | null): void {
    this.#hashed += 1;
    result.sha256 = sha256;
    result.error = error;
    if (sha256 === null) result.verdict = 'unreadable';
    else {
      this.#judge(result);
      this.#lookups.ask(sha256);
    }
    this.#draw();
  }

  #judge(result: FileResult): void {
    if (result.sha256 === null) return;
    const line = this.#index.lineFor(result.path);
    const list = line ? shownPath(line.list.path) : null;
    if (result.list === null) {
      result.expected = line?.entry.sha256 ?? null;
      result.list = list;
    }
    if (line && list === result.list && isContradicted(line) && result.error === null) {
      result.error = 'A list names it twice, with different digests.';
      result.verdict = 'unproven';
    }
    this.#lookUp(result);
  }

  /** Takes over what the archive answered since. */
  #lookUp(result: FileResult): void {
    if (result.sha256 === null) return;
    const found = this.#lookups.found.get(result.sha256);
    result.found = found ?? null;
    // A fault that the digest does not show stays.
    if (result.error === null) result.verdict = judge(result.sha256, result.expected, found, result.proof);
  }

  /** A list that is dropped later counts for the files that are there already. */
  #judgeAll(): void {
    for (const result of this.#state.results) this.#judge(result);
  }

  #addMissing(): void {
    this.#keep(({ verdict }) => verdict !== 'missing');
    const { results } = this.#state;
    for (const { entry, list } of this.#index.missing(results.map(({ path }) => path))) {
      results.push({
        ...this.#emptyResult(entry.name, null),
        expected: entry.sha256,
        list: list.path,
        verdict: 'missing',
      });
    }
  }

  /** One file that cannot be read must not stop the others. What is wrong with it is said when it is hashed. */
  async #recogniseIfReadable(dropped: PathFile): Promise<boolean> {
    try {
      return await this.#recognise(dropped);
    } catch (error) {
      if (error instanceof DOMException) return false;
      throw error;
    }
  }

  /** Takes lists, checkpoints, proofs, pack files and evidence files as what they are. Returns false for any other file. */
  async #recognise({ path, file }: PathFile): Promise<boolean> {
    const name = nameOf(path);
    if (NOTE_NAME.test(name) && file.size <= MAX_NOTE_BYTES) {
      const note = parseCheckpointNote(path, await file.text());
      if (note) {
        void this.#check(note);
        return true;
      }
    }
    if (CHECKSUM_LIST_NAME.test(name) && file.size <= MAX_CHECKSUM_LIST_BYTES) {
      const text = await file.text();
      if (isChecksumList(text)) {
        this.#set({ lists: [...this.#state.lists, { path, ...parseChecksums(text) }] });
        return true;
      }
    }
    if (ZIP_NAME.test(name) && file.size <= MAX_BAG_FILE_BYTES) return this.#openBag(path, file);
    if (EVIDENCE_NAME.test(name) && file.size <= MAX_EVIDENCE_BYTES) return this.#openEvidence(path, file);
    return false;
  }

  /** Returns false if it is no evidence file. A worker verifies it, which takes seconds for the largest. */
  async #openEvidence(path: string, file: File): Promise<boolean> {
    if (this.#isClosed) return false;
    const found = await this.prepare().verifyEvidence(file, KNOWN_PAGES);
    if (!found) return false;
    const result = this.#newResult(path, file.size);
    this.#queued += 1;
    this.#bytes += file.size;
    result.proof = found.proof;
    this.#finish(result, found.sha256, null);
    return true;
  }

  /** Returns false if it is neither a pack file nor a bag. A worker verifies it. */
  async #openBag(path: string, file: File): Promise<boolean> {
    if (this.#isClosed) return false;
    const found = await this.prepare().verifyBag(file, KNOWN_PAGES);
    if (!found) return false;
    for (const { path: inside, bytes, sha256, expected, list, fault, proof } of found) {
      const result = this.#newResult(inside === '' ? path : `${path}/${inside}`, bytes);
      result.expected = expected;
      result.list = list === null ? null : `${shownPath(path)}: ${list}`;
      result.proof = proof;
      this.#queued += 1;
      this.#bytes += bytes ?? 0;
      if (fault !== null) result.verdict = 'changed';
      this.#finish(result, sha256, fault);
    }
    return true;
  }

  async #check(note: CheckpointNote): Promise<void> {
    const key = this.#nextKey++;
    const show = (result: CheckpointResult) => {
      const others = this.#state.checkpoints.filter((other) => other.key !== key);
      this.#set({ checkpoints: [...others, { key, note, result }] });
    };
    show({ state: 'pending' });
    while (!this.#isClosed) {
      try {
        const { node } = await readSession();
        show(await checkNote(note, node));
        return this.#set({ isOffline: false });
      } catch {
        if (this.#isClosed) return;
        this.#set({ isOffline: true });
        await pause();
      }
    }
  }

  #draw(): void {
    // Drawing takes time for each file, so that a page with many is drawn less often.
    const wait = Math.max(DRAW_EVERY_MS, this.#state.results.length / FILES_DRAWN_PER_MS);
    this.#drawTimer ??= setTimeout(() => this.#drawNow(), wait);
  }

  #drawNow(): void {
    clearTimeout(this.#drawTimer);
    this.#drawTimer = undefined;
    if (this.#isClosed) return;
    for (const result of this.#state.results) {
      if (result.found === null) this.#lookUp(result);
    }
    const seconds = Math.max(0.001, (performance.now() - this.#started) / 1000);
    const isDone = this.#hashed >= this.#queued;
    const progress = {
      files: this.#hashed,
      bytes: this.#bytes,
      totalBytes: this.#totalBytes,
      rate: this.#bytes / seconds,
    };
    const { results, version } = this.#state;
    this.#set({ results, version: version + 1, progress: isDone ? undefined : progress });
  }
}

const NOTE_NAME = /checkpoint|\.tlog-proof$|\.note$/;
const ZIP_NAME = /\.zip$/;
const EVIDENCE_NAME = /\.html?$/;

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).toLowerCase();
}

/** Whether a file's name says that it may be a list, a checkpoint, a pack file or an evidence file. */
function mayBeSpecial({ path }: PathFile): boolean {
  const name = nameOf(path);
  return [NOTE_NAME, CHECKSUM_LIST_NAME, ZIP_NAME, EVIDENCE_NAME].some((pattern) => pattern.test(name));
}

/** A list does not make a file what its name says. Says so of one that was not verified as that; null for any other file. */
function unprovenByName(path: string): FileProof | null {
  const kind = bagKindIn(path);
  const what = kind === undefined ? NAMED_FORMATS.get(formatIn(path)) : bagWords(kind);
  if (what === undefined || isCommonName(path)) return null;
  const words = `Its name is that of ${what}, and this page could not verify it as that. “strongroom verify” may say more.`;
  return { verdict: 'unknown', words };
}

const NAMED_FORMATS = new Map<NamedFormat | undefined, string>([
  ['evidence', 'an evidence file'],
  ['checkpoint', 'a checkpoint'],
  ['proof', 'a proof'],
]);

/** Small files are given to a worker together: a message for each would take longer than hashing it. */
const BATCH_FILES = 32;
const BATCH_BYTES = 4_194_304;

/** Groups files into batches that end at either limit. A larger file is a batch of its own. */
function* batchesOf<Item extends { file: File }>(files: readonly Item[]): Generator<Item[]> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const one of files) {
    if (batch.length >= BATCH_FILES || (batch.length > 0 && bytes + one.file.size > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(one);
    bytes += one.file.size;
  }
  if (batch.length > 0) yield batch;
}
