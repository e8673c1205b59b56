import { create } from 'zustand';
import { type FoundDigest, MAX_LOOKUP_DIGESTS } from '../../../../shared/archive/lookup.ts';
import { isChecksumList, parseChecksums } from '../../../../shared/values/checksums.ts';
import { call } from '../../api/client.ts';
import { hashStream } from '../../hashing/sha256.ts';
import type { PathFile } from '../assemble/files/readDropped.ts';
import {
  type CheckpointNote,
  type CheckpointResult,
  checkNote,
  parseCheckpointNote,
} from './checkpointNote.ts';
import { type DroppedList, type Finding, judge, ListIndex } from './findings.ts';
import { WorkerPool } from './workerPool.ts';
import { MAX_PACK_FILE_BYTES, zipEntries } from './zipEntries.ts';

/** A list or checkpoint is read as text. */
const MAX_LIST_BYTES = 67_108_864;
const MAX_NOTE_BYTES = 65_536;
/** How often the page is drawn anew, and how soon a failed look-up is tried again. */
const DRAW_EVERY_MS = 250;
const RETRY_MS = 3_000;

export interface Progress {
  files: number;
  bytes: number;
  totalBytes: number;
  rate: number;
}

interface Verification {
  /** The same array while files are hashed; `version` changes when something in it did. */
  findings: Finding[];
  version: number;
  lists: DroppedList[];
  checkpoints: { note: CheckpointNote; result: CheckpointResult }[];
  progress: Progress | undefined;
  /** Whether the node could not be asked; look-ups are tried again. */
  isOffline: boolean;
  /** Loads the workers, so that nothing has to be loaded when files are dropped. */
  prepare: () => void;
  add: (files: readonly PathFile[], node: string) => Promise<void>;
  clear: () => void;
}

type Set = (change: Partial<Verification>) => void;

/** One verification: its files, its workers and its look-ups. */
class Run {
  readonly #set: Set;
  readonly #get: () => Verification;
  readonly #found = new Map<string, FoundDigest | null>();
  readonly #asked = new Set<string>();
  readonly #toAsk: string[] = [];
  #index = new ListIndex([]);
  #isClosed = false;
  #isAsking = false;
  #drawTimer: ReturnType<typeof setTimeout> | undefined;
  #bytes = 0;
  #hashed = 0;
  #totalBytes = 0;
  #queued = 0;
  #started = 0;
  #pool: WorkerPool | undefined;

  constructor(set: Set, get: () => Verification) {
    this.#set = set;
    this.#get = get;
  }

  prepare(): WorkerPool {
    this.#pool ??= new WorkerPool();
    return this.#pool;
  }

  async add(files: readonly PathFile[], node: string): Promise<void> {
    this.#started ||= performance.now();
    const plain: PathFile[] = [];
    for (const dropped of files) {
      if (!(await this.#recognise(dropped, node))) plain.push(dropped);
    }
    this.#index = new ListIndex(this.#get().lists);
    const pool = this.prepare();
    const work = plain.map((dropped) => ({
      ...dropped,
      finding: this.#newFinding(dropped.path, dropped.file.size),
    }));
    this.#queued += work.length;
    this.#judgeAll();
    let next = 0;
    const hashNext = async (): Promise<void> => {
      for (let one = work[next++]; one && !this.#isClosed; one = work[next++]) {
        let read = 0;
        const { file, finding } = one;
        const { sha256, error } = await pool.hash(file, (bytes) => {
          this.#bytes += bytes - read;
          read = bytes;
          this.#draw();
        });
        this.#bytes += file.size - read;
        this.#finish(finding, sha256, error);
      }
    };
    await Promise.all(Array.from({ length: pool.size }, hashNext));
    if (this.#isClosed) return;
    this.#addMissing();
    this.#drawNow();
  }

  #newFinding(path: string, bytes: number | null): Finding {
    const finding: Finding = {
      path,
      bytes,
      sha256: null,
      expected: null,
      list: null,
      verdict: 'waiting',
      found: null,
      error: null,
    };
    this.#get().findings.push(finding);
    this.#totalBytes += bytes ?? 0;
    return finding;
  }

  #finish(finding: Finding, sha256: string | null, error: string | null): void {
    this.#hashed += 1;
    finding.sha256 = sha256;
    finding.error = error;
    if (sha256 === null) finding.verdict = 'unreadable';
    else {
      this.#judge(finding);
      this.#ask(sha256);
    }
    this.#draw();
  }

  #judge(finding: Finding): void {
    if (finding.sha256 === null) return;
    if (finding.list === null) {
      const line = this.#index.lineFor(finding.path);
      finding.expected = line?.entry.sha256 ?? null;
      finding.list = line?.list.path ?? null;
    }
    this.#lookUp(finding);
  }

  /** Takes over what the archive answered since. */
  #lookUp(finding: Finding): void {
    if (finding.sha256 === null) return;
    const found = this.#found.get(finding.sha256);
    finding.found = found ?? null;
    finding.verdict = judge(finding.sha256, finding.expected, found);
  }

  /** A list that is dropped later counts for the files that are there already. */
  #judgeAll(): void {
    for (const finding of this.#get().findings) this.#judge(finding);
  }

  #addMissing(): void {
    const { findings } = this.#get();
    const present = findings.filter(({ verdict }) => verdict !== 'missing');
    findings.length = 0;
    for (const finding of present) findings.push(finding);
    for (const { entry, list } of this.#index.missing(present.map(({ path }) => path))) {
      findings.push({
        path: entry.name,
        bytes: null,
        sha256: null,
        expected: entry.sha256,
        list: list.path,
        verdict: 'missing',
        found: null,
        error: null,
      });
    }
  }

  /** Takes lists, checkpoints, proofs and pack files as what they are. Returns false for any other file. */
  async #recognise({ path, file }: PathFile, node: string): Promise<boolean> {
    const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
    if (/checkpoint|\.tlog-proof$|\.note$/.test(name) && file.size <= MAX_NOTE_BYTES) {
      const note = parseCheckpointNote(path, await file.text());
      if (note) {
        void this.#check(note, node);
        return true;
      }
    }
    if (/sums?\b|sha256|hashdeep|\.hash$|checksum|digest/.test(name) && file.size <= MAX_LIST_BYTES) {
      const text = await file.text();
      if (isChecksumList(text)) {
        this.#set({ lists: [...this.#get().lists, { path, ...parseChecksums(text) }] });
        return true;
      }
    }
    if (name.endsWith('.zip') && file.size <= MAX_PACK_FILE_BYTES) return this.#openPackFile(path, file);
    return false;
  }

  /** Verifies the files in a pack file against its own manifest. Returns false if it is not a pack file. */
  async #openPackFile(path: string, file: File): Promise<boolean> {
    const entries = await zipEntries(file).catch(() => undefined);
    const manifest = entries?.find((entry) => /(^|\/)manifest-sha256\.txt$/.test(entry.path));
    if (!entries || !manifest) return false;
    const folder = manifest.path.slice(0, -'manifest-sha256.txt'.length);
    const { entries: lines } = parseChecksums(await new Response(manifest.open()).text());
    const expected = new Map(lines.map(({ name, sha256 }) => [folder + name, sha256]));
    for (const entry of entries) {
      const digest = expected.get(entry.path);
      if (digest === undefined) continue;
      expected.delete(entry.path);
      const finding = this.#newFinding(`${path}/${entry.path}`, entry.bytes);
      finding.expected = digest;
      finding.list = path;
      this.#queued += 1;
      try {
        const { sha256, bytes } = await hashStream(entry.open());
        this.#bytes += bytes;
        this.#finish(finding, sha256, null);
      } catch {
        this.#finish(finding, null, 'This file in the pack file is damaged.');
      }
    }
    for (const [name, digest] of expected) {
      const finding = this.#newFinding(`${path}/${name}`, null);
      finding.expected = digest;
      finding.list = path;
      finding.verdict = 'unreadable';
      finding.error = 'The manifest lists this file, but the pack file does not contain it.';
    }
    return true;
  }

  async #check(note: CheckpointNote, node: string): Promise<void> {
    const show = (result: CheckpointResult) => {
      const others = this.#get().checkpoints.filter((other) => other.note !== note);
      this.#set({ checkpoints: [...others, { note, result }] });
    };
    show({ state: 'pending' });
    while (!this.#isClosed) {
      try {
        return show(await checkNote(note, node));
      } catch {
        this.#set({ isOffline: true });
        await pause();
      }
    }
  }

  #ask(sha256: string): void {
    if (this.#asked.has(sha256)) return;
    this.#asked.add(sha256);
    this.#toAsk.push(sha256);
    if (!this.#isAsking) void this.#askAll();
  }

  /** Looks digests up in batches. While the node cannot be reached, they wait. */
  async #askAll(): Promise<void> {
    this.#isAsking = true;
    // Lets more files be hashed, so that a batch is full.
    await pause(50);
    while (this.#toAsk.length > 0 && !this.#isClosed) {
      const batch = this.#toAsk.slice(0, MAX_LOOKUP_DIGESTS);
      try {
        const { items } = await call('lookUpDigests', { query: { sha256: batch.join(',') } });
        this.#toAsk.splice(0, batch.length);
        for (const sha256 of batch) this.#found.set(sha256, null);
        for (const item of items) this.#found.set(item.sha256, item);
        this.#set({ isOffline: false });
      } catch {
        this.#set({ isOffline: true });
        await pause();
      }
      this.#draw();
    }
    this.#isAsking = false;
    this.#draw();
  }

  #draw(): void {
    this.#drawTimer ??= setTimeout(() => this.#drawNow(), DRAW_EVERY_MS);
  }

  #drawNow(): void {
    clearTimeout(this.#drawTimer);
    this.#drawTimer = undefined;
    if (this.#isClosed) return;
    for (const finding of this.#get().findings) {
      if (finding.found === null) this.#lookUp(finding);
    }
    const seconds = Math.max(0.001, (performance.now() - this.#started) / 1000);
    const isDone = this.#hashed >= this.#queued;
    const progress = {
      files: this.#hashed,
      bytes: this.#bytes,
      totalBytes: this.#totalBytes,
      rate: this.#bytes / seconds,
    };
    this.#set({ version: this.#get().version + 1, progress: isDone ? undefined : progress });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#drawTimer);
    this.#pool?.close();
  }
}

/** Waits, or less if the network comes back. */
function pause(ms = RETRY_MS): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener('online', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    window.addEventListener('online', end);
  });
}

/** What is dropped on the page stays there while other pages are visited. Nothing is sent but digests. */
export const useVerification = create<Verification>()((set, get) => {
  let run = new Run(set, get);
  return {
    findings: [],
    version: 0,
    lists: [],
    checkpoints: [],
    progress: undefined,
    isOffline: false,
    prepare: () => run.prepare(),
    add: (files, node) => run.add(files, node),
    clear: () => {
      run.close();
      run = new Run(set, get);
      run.prepare();
      set({ findings: [], version: 0, lists: [], checkpoints: [], progress: undefined, isOffline: false });
    },
  };
});
