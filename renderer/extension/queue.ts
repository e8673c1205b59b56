import type { Quote } from './inPage.ts';

/** What waits until the node has acknowledged it. */
export type Entry = PageEntry | WatchEntry;

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
export async function readEntry(id: number): Promise<Entry | undefined> {
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
