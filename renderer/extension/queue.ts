import type { Quote } from './inPage.ts';
import {
  handIn,
  NodeError,
  type Pairing,
  readCases,
  readConnection,
  readPairing,
  saveConnection,
  watch,
} from './node.ts';

/** What waits until the node has acknowledged it. */
type Entry = PageEntry | WatchEntry;

interface Waiting {
  id: number;
  url: string;
  /** When the person clicked. With it the node recognizes what it got before. */
  seenAt: string;
  /** Why it was not taken at the last try; empty before the first. */
  error: string;
  /** The node will not take it as it is: the person decides. */
  isRefused: boolean;
}

export interface PageEntry extends Waiting {
  kind: 'page';
  file: Blob;
  fileName: string;
  picture: Blob | null;
  quote: Quote | null;
  /** Whether the selection becomes a finding. */
  isQuoted: boolean;
  note: string;
  /** The id of the case that it is put into; empty for none. */
  case: string;
  /** How many parts could not be read. */
  missing: number;
}

export interface WatchEntry extends Waiting {
  kind: 'watch';
}

type New<Kept> = Kept extends Entry ? Omit<Kept, 'id' | 'error' | 'isRefused'> : never;

const MAX_ENTRIES = 200;
const MAX_BYTES = 2_000_000_000;
const STORE = 'entries';

/** The queue is full. Nothing was lost: what is in it stays. */
export class QueueFullError extends Error {
  constructor() {
    super('Too much waits for your node. Start it, so that it takes what waits, and click again.');
    this.name = 'QueueFullError';
  }
}

/** Keeps an entry on this disk until it is removed. @throws QueueFullError */
export async function addEntry(added: New<Entry>): Promise<number> {
  const waiting = await listEntries();
  const bytes = [...waiting, added].reduce((total, entry) => total + bytesOf(entry), 0);
  if (waiting.length >= MAX_ENTRIES || bytes > MAX_BYTES) throw new QueueFullError();
  const entry = { ...added, error: '', isRefused: false };
  return Number(await inStore('readwrite', (store) => store.add(entry)));
}

/** Returns what waits, oldest first. */
export async function listEntries(): Promise<Entry[]> {
  return (await inStore('readonly', (store) => store.getAll())) as Entry[];
}

/** Returns an entry as it is now; undefined if it was removed. */
async function readEntry(id: number): Promise<Entry | undefined> {
  return (await inStore('readonly', (store) => store.get(id))) as Entry | undefined;
}

/** Changes an entry, unless it was removed meanwhile. */
export async function changeEntry(
  id: number,
  change: Partial<Omit<PageEntry, 'id' | 'kind'>>,
): Promise<void> {
  const database = await openDatabase();
  try {
    const transaction = database.transaction(STORE, 'readwrite');
    const store = transaction.objectStore(STORE);
    const found = (await resultOf(store.get(id))) as Entry | undefined;
    if (found) store.put({ ...found, ...change });
    await ended(transaction);
  } finally {
    database.close();
  }
}

export async function removeEntry(id: number): Promise<void> {
  await inStore('readwrite', (store) => store.delete(id));
}

function bytesOf(entry: New<Entry>): number {
  return entry.kind === 'page' ? entry.file.size + (entry.picture?.size ?? 0) : 0;
}

async function inStore<Result>(
  mode: IDBTransactionMode,
  request: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const database = await openDatabase();
  try {
    // The person is told that an entry is kept only after it is on the disk.
    const transaction = database.transaction(STORE, mode, { durability: 'strict' });
    const result = await resultOf(request(transaction.objectStore(STORE)));
    if (mode === 'readwrite') await ended(transaction);
    return result;
  } finally {
    database.close();
  }
}

function openDatabase(): Promise<IDBDatabase> {
  const opening = indexedDB.open('queue', 1);
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore(STORE, { keyPath: 'id', autoIncrement: true });
  };
  return resultOf(opening);
}

function resultOf<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('The queue cannot be read.'));
  });
}

function ended(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error('The queue cannot be written.'));
  });
}

const RETRY = 'deliver';
const RETRY_MINUTES = 0.5;

/** The node knows no such case, or it is full: the page is more important than its case. */
const NO_CASE: ReadonlySet<string> = new Set(['unknown_target', 'case_full']);

/** Entries that the person may still change. */
const held = new Set<number>();
let running: Promise<void> | undefined;
let isAskedAgain = false;

/** Keeps an entry from being sent until `release`. A worker that was stopped in between has forgotten it, and sends. */
export function hold(id: number): void {
  held.add(id);
}

export function release(id: number): void {
  held.delete(id);
}

/** Sends what waits, one after the other. What the node did not acknowledge stays, and is tried again later. */
export function deliver(): Promise<void> {
  isAskedAgain = true;
  running ??= (async () => {
    try {
      while (isAskedAgain) {
        isAskedAgain = false;
        await deliverAll();
      }
    } finally {
      running = undefined;
    }
  })();
  return running;
}

async function deliverAll(): Promise<void> {
  try {
    const pairing = await readPairing();
    if (pairing) await deliverTo(pairing);
  } finally {
    // Whatever happened, the browser is asked to wake the worker while something waits.
    await showState();
  }
}

async function deliverTo(pairing: Pairing): Promise<void> {
  try {
    const cases = await readCases(pairing);
    await saveConnection({ state: 'on', cases });
    // What failed at the last try comes last: it holds up nothing else.
    const waiting = (await listEntries()).toSorted(
      (one, other) => Number(one.error !== '') - Number(other.error !== ''),
    );
    for (const { id } of waiting) {
      // Meanwhile the person may have changed or discarded it, or forgotten the node.
      const [entry, current] = await Promise.all([readEntry(id), readPairing()]);
      if (current?.token !== pairing.token) return;
      if (entry && !entry.isRefused && !held.has(id)) await send(pairing, entry);
    }
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    if (error.kind === 'later' || error.kind === 'refused') return;
    await saveConnection({ state: error.kind });
  }
}

/** Sends one entry. @throws NodeError if the others need not be tried */
async function send(pairing: Pairing, entry: Entry): Promise<void> {
  try {
    if (entry.kind === 'watch') await watch(pairing, entry.url);
    else await sendPage(pairing, entry);
    await removeEntry(entry.id);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    await changeEntry(entry.id, { error: error.message, isRefused: error.kind === 'refused' });
    if (error.kind !== 'refused' && error.kind !== 'later') throw error;
  }
}

async function sendPage(pairing: Pairing, entry: Entry & { kind: 'page' }): Promise<void> {
  const files = { file: entry.file, name: entry.fileName, picture: entry.picture };
  const said = {
    url: entry.url,
    seen_at: entry.seenAt,
    note: entry.note,
    ...(entry.isQuoted && {
      quote: entry.quote?.exact,
      quote_prefix: entry.quote?.prefix,
      quote_suffix: entry.quote?.suffix,
    }),
    case: entry.case,
  };
  try {
    await handIn(pairing, files, said);
  } catch (error) {
    if (!(error instanceof NodeError) || !entry.case || !NO_CASE.has(error.code)) throw error;
    await handIn(pairing, files, { ...said, case: undefined });
  }
}

/** Says at the button how much waits and whether somebody must act, and asks to be woken while something waits. */
async function showState(): Promise<void> {
  const [pairing, connection, entries] = await Promise.all([readPairing(), readConnection(), listEntries()]);
  const waits = entries.some(({ isRefused }) => !isRefused);
  if (waits && pairing) await chrome.alarms.create(RETRY, { periodInMinutes: RETRY_MINUTES });
  else await chrome.alarms.clear(RETRY);
  const isBlocked = /revoked|stranger/.test(connection.state) || entries.some(({ isRefused }) => isRefused);
  await chrome.action.setBadgeBackgroundColor({ color: isBlocked ? '#98271f' : '#1f3f77' });
  await chrome.action.setBadgeText({ text: entries.length > 0 ? String(entries.length) : '' });
  const title = entries.length > 0 ? `Archive this page (waiting: ${entries.length})` : 'Archive this page';
  await chrome.action.setTitle({ title });
}
