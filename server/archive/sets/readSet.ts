import { hash } from 'node:crypto';
import type { PackRecord } from '../../../shared/archive/pack.ts';
import { mayBeManifest } from '../../../shared/archive/set.ts';
import { SET_FILE } from '../../../shared/archive/setManifest.ts';
import { MAX_PACK_BYTES } from '../../../shared/limits.ts';
import type { PackProvenance } from '../../../shared/node/peer.ts';
import { type FieldError, Problem } from '../../../shared/problems.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../fixity/audit.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { WorkCoalescer } from '../../runtime/concurrency.ts';
import { runInThread } from '../../runtime/threads.ts';
import { filesOfPack, type PackRow, packById, recordTexts } from '../../store/sqlite/archive/packs.ts';
import {
  insertSet,
  type JoinedPart,
  manifestsNotRead,
  type SaidBy,
  type SetContents,
  setOf,
} from '../../store/sqlite/archive/sets.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { lastEntry } from '../../store/sqlite/node/ledger.ts';
import { numberOfOrigin, originOf } from '../../store/sqlite/node/peerOrigins.ts';
import { provenanceOf } from '../../store/sqlite/node/peers.ts';
import type { Store } from '../../store/store.ts';
import {
  madeOfReadable,
  OWNER,
  type Reader,
  requireReadable,
  VISITOR,
} from '../../withholding/withholding.ts';
import { removeFromSubjects } from '../packs/packRows.ts';
import { requirePack } from '../packs/readPack.ts';
import { areJoined, checkJoined } from './joinedFiles.ts';
import { type ParsedSet, parseSet, SetIndex } from './setIndex.ts';
import { setIdOf } from './setRecords.ts';

/** The sets in memory take at most this much together, except for a single larger one. */
const MAX_MEMORY = 67_108_864;
/** The number of threads that read sets. Each takes several times the memory of its file. */
const THREADS = 1;

/** What was read of the files `set.json`, by digest: what a digest stands for never changes. */
class ReadSets {
  readonly #reading = new WorkCoalescer<SetIndex | FieldError[] | undefined>(THREADS);
  /** The least recently used first. */
  readonly #sets = new Map<string, SetIndex>();

  /** @throws Problem `blob_damaged`, `copy_unreachable`, `released` */
  async read(store: DamageContext, file: SetFile): Promise<SetIndex | FieldError[] | undefined> {
    const known = this.#sets.get(file.sha256);
    const set = known ?? (await this.#reading.run(file.sha256, () => readAnew(store, file)));
    if (!(set instanceof SetIndex)) return set;
    this.#sets.delete(file.sha256);
    this.#sets.set(file.sha256, set);
    let memory = this.#sets.values().reduce((sum, each) => sum + each.memory, 0);
    for (const [oldest, each] of this.#sets) {
      if (memory <= MAX_MEMORY || this.#sets.size === 1) break;
      this.#sets.delete(oldest);
      memory -= each.memory;
    }
    return set;
  }
}

/** The stored file `set.json` of a manifest. */
interface SetFile {
  sha256: string;
  bytes: number;
}

async function readAnew(
  store: DamageContext,
  { sha256, bytes }: SetFile,
): Promise<SetIndex | FieldError[] | undefined> {
  if (bytes > MAX_PACK_BYTES) return undefined;
  const content = await contentOf(store, sha256, bytes);
  const found = await parse(content);
  if (found.sha256 !== sha256) {
    await confirmDamage(store, [sha256]);
    throw damaged();
  }
  if ('errors' in found.parsed) return found.parsed.errors;
  return 'set' in found.parsed ? new SetIndex(found.parsed.set) : undefined;
}

/** A smaller list is read in a few milliseconds. Starting a thread takes longer. */
const SMALL_BYTES = 65_536;

async function parse(bytes: Uint8Array): Promise<{ sha256: string; parsed: ParsedSet }> {
  if (bytes.length <= SMALL_BYTES) return { sha256: hash('sha256', bytes, 'hex'), parsed: parseSet(bytes) };
  return runInThread('parseSet', bytes);
}

async function contentOf(store: DamageContext, sha256: string, bytes: number): Promise<Uint8Array> {
  const content = new Uint8Array(bytes);
  let filled = 0;
  try {
    for await (const chunk of store.blobs.read(sha256)) {
      if (filled + chunk.length > bytes) break;
      content.set(chunk, filled);
      filled += chunk.length;
    }
    return content;
  } catch (error) {
    if (!isBlobDamageError(error)) throw error;
    await confirmDamage(store, [sha256]);
    throw damaged(error);
  }
}

function damaged(cause?: unknown): Problem {
  return new Problem(
    'blob_damaged',
    'The list of the files of this set is damaged or missing. Verify the pack.',
    {
      cause,
    },
  );
}

const readSets = new WeakMap<Store['blobs'], ReadSets>();

function readSetFile(store: DamageContext, file: SetFile): Promise<SetIndex | FieldError[] | undefined> {
  let sets = readSets.get(store.blobs);
  if (!sets) readSets.set(store.blobs, (sets = new ReadSets()));
  return sets.read(store, file);
}

/**
 * Reads the set of a record that is being added and whose file is on stable storage.
 *
 * @returns undefined if the pack is no manifest
 * @throws Problem `invalid_set` with what is wrong; `blob_damaged`
 */
export async function readNewSet(store: DamageContext, record: PackRecord): Promise<SetIndex | undefined> {
  const [file] = record.files;
  if (!file || !mayBeManifest(record)) return undefined;
  const read = await readSetFile(store, file);
  if (!Array.isArray(read)) return read;
  const [first] = read;
  throw new Problem(
    'invalid_set',
    `${SET_FILE}: ${first?.path ?? ''}: ${first?.message ?? 'It is not valid.'}`,
    {
      errors: read,
    },
  );
}

/** Returns what a file `set.json` names; undefined if it is no valid list of a set. */
export async function setNamedBy(bytes: Uint8Array): Promise<SetIndex | undefined> {
  const { parsed } = await parse(bytes);
  return 'set' in parsed ? new SetIndex(parsed.set) : undefined;
}

/** A set: its manifest pack, and its files. */
export interface OpenedSet {
  pack: PackRow;
  /** The digest of `set.json`. */
  file: string;
  index: SetIndex;
}

/**
 * Returns the set of a manifest pack; undefined if the pack is none.
 *
 * @param reader who asks for what is in the list; it is not read for those who may not read it
 * @throws Problem `not_found` if there is no such pack; `blob_damaged`, `copy_unreachable`, `released`; `withheld`, also
 * for the owner if a peer did not give the list
 */
export async function findSet(
  store: DamageContext,
  id: string,
  reader: Reader = OWNER,
): Promise<OpenedSet | undefined> {
  const pack = requirePack(store.read, id);
  if (pack.files !== 1) return undefined;
  const [file] = filesOfPack(store.read, pack.ledger_entry);
  if (file?.path !== SET_FILE) return undefined;
  const index = await madeOfReadable(
    () => requireReadable(store.read, file.sha256, reader),
    async () => {
      const read = await readSetFile(store, file);
      if (read instanceof SetIndex) await recordSetIfComplete(store, pack, read);
      return read;
    },
  );
  if (!(index instanceof SetIndex)) return undefined;
  return { pack, file: file.sha256, index };
}

/** Like `findSet`. @throws Problem `not_found` also if the pack is no manifest */
export async function requireSet(
  store: DamageContext,
  id: string,
  reader: Reader = OWNER,
): Promise<OpenedSet> {
  const set = await findSet(store, id, reader);
  if (set) return set;
  throw new Problem('not_found', `${id} is a pack of its own, not a set.`);
}

/**
 * Keeps the size and the parts of a set that came without its file, from a dump or another archive. Some of its parts may
 * not be here yet: then it is kept when they are.
 */
async function recordSetIfComplete(store: DamageContext, pack: PackRow, index: SetIndex): Promise<void> {
  const { read, write } = store;
  const { ledger_entry } = pack;
  if (setOf(read, ledger_entry) || index.packs.some((id) => !packById(read, id))) return;
  const record = JSON.parse(recordTexts(read, [ledger_entry])[0]?.record ?? '') as PackRecord;
  const { count, bytes, packs } = index;
  const set = { count, bytes, packs, joined: await believedOf(store, ledger_entry, index) };
  await write((database) => {
    if (setOf(database, ledger_entry)) return;
    // A restored archive does not say which visitor sent a list. It has the ties of the lists that were known before.
    const provenance = provenanceOf(database, ledger_entry) as PackProvenance | undefined;
    const by = provenance ? originOf(database, provenance.peer.key) : 'unknown';
    recordSet(database, { ledger_entry, record }, set, by);
  });
}

/** Returns the parts of files that are accepted from a list that came later than its record. Lists of this node were checked before. */
async function believedOf(
  store: DamageContext,
  ledgerEntry: number,
  index: SetIndex,
): Promise<readonly JoinedPart[]> {
  const { read } = store;
  const provenance = provenanceOf(read, ledgerEntry) as PackProvenance | undefined;
  if (!provenance || index.joined.every(([file, part]) => areJoined(read, file, [part]))) return index.joined;
  const origin = numberOfOrigin(read, provenance.peer.key);
  const doubted = new Set<string>();
  await checkJoined(store, index, { reader: VISITOR, origin }, (file) => doubted.add(index.sha256Of(file)));
  return index.joined.filter(([file]) => !doubted.has(file));
}

/** Records the set of a manifest, in the transaction that records the manifest or later. */
export function recordSet(
  database: WriteDatabase,
  { ledger_entry, record }: { ledger_entry: number; record: PackRecord },
  set: SetContents,
  by: SaidBy,
): void {
  for (const pack of insertSet(database, { ledger_entry, id: setIdOf(record) }, set, by))
    removeFromSubjects(database, pack);
}

/** The ledger entries that are looked through before other requests have their turn. */
const ENTRIES_AT_ONCE = 20_000;

/**
 * Yields the sets that were not known yet, such as those of a restored archive. Once they are, lists have none of their
 * parts.
 *
 * @param failed called for each list that cannot be read now; the set is looked at again when it is opened
 */
export async function* findSets(
  store: DamageContext,
  failed: (pack: string, error: Problem) => void,
  signal?: AbortSignal,
): AsyncGenerator<OpenedSet> {
  const last = lastEntry(store.read)?.seq ?? 0;
  for (let after = 0; after < last; after += ENTRIES_AT_ONCE) {
    const found = { file: SET_FILE, after, until: after + ENTRIES_AT_ONCE };
    for (const id of manifestsNotRead(store.read, found)) {
      if (signal?.aborted) return;
      try {
        const set = await findSet(store, id);
        if (set) yield set;
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        failed(id, error);
      }
    }
    await yieldToEventLoop();
    if (signal?.aborted) return;
  }
}

/** Finds all sets of an archive that was imported or restored whole, before a node lists what their parts are. */
export async function findAllSets(
  store: DamageContext,
  failed: (pack: string, error: Problem) => void = () => undefined,
  signal?: AbortSignal,
): Promise<void> {
  const sets = findSets(store, failed, signal);
  while (!(await sets.next()).done);
}
