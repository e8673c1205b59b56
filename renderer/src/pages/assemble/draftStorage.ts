import type { Draft, SavedDraft } from './draft.ts';
import type { DraftFile, StoredFile } from './files/draftFile.ts';

/**
 * What this browser keeps of the draft: the record and the list of files in `localStorage`, their contents in IndexedDB.
 */

const RECORD_KEY = 'strongroom-draft';
const FILES_KEY = 'strongroom-draft-files';

/** The record, and where the node has it. */
export interface KeptRecord {
  draft: Draft;
  saved: SavedDraft | undefined;
  newId: string | undefined;
  isChanged: boolean;
}

/** The record that this browser kept. Another version may have kept fewer fields. */
export function readKept(): Partial<KeptRecord> {
  try {
    const text = globalThis.localStorage?.getItem(RECORD_KEY) ?? '{}';
    return (JSON.parse(text) as { state?: Partial<KeptRecord> }).state ?? {};
  } catch {
    // A disabled storage, or a text that is not ours: the form begins empty.
    return {};
  }
}

/** Returns whether the browser kept it: a full or disabled storage must not stop the typing. */
export function saveKept(state: KeptRecord): boolean {
  return tryToKeep(RECORD_KEY, { state, version: 1 });
}

/** The metadata of a draft file. It is small, so it is kept beside the record. */
export type ManifestEntry = Pick<
  DraftFile,
  'id' | 'path' | 'mediaType' | 'bytes' | 'sha256' | 'isStored' | 'savedPath'
>;

/** Returns whether the browser kept it. */
export function saveManifest(files: readonly DraftFile[]): boolean {
  return tryToKeep(
    FILES_KEY,
    files.map(({ id, path, mediaType, bytes, sha256, isStored, savedPath }): ManifestEntry => {
      return { id, path, mediaType, bytes, sha256, isStored, savedPath };
    }),
  );
}

export function readManifest(): ManifestEntry[] {
  const text = localStorage.getItem(FILES_KEY);
  return text ? (JSON.parse(text) as ManifestEntry[]) : [];
}

function tryToKeep(key: string, value: unknown): boolean {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

const DATABASE = 'strongroom-draft';
const STORE = 'files';

export async function readStoredFiles(): Promise<StoredFile[]> {
  return (await inStore('readonly', (store) => store.getAll() as IDBRequest<StoredFile[]>)) ?? [];
}

/** @throws if storage is full or disabled. */
export async function storeFiles(files: readonly StoredFile[]): Promise<void> {
  await inStore('readwrite', (store) => {
    for (const { id, file } of files) store.put({ id, file });
    return undefined;
  });
}

export async function deleteStoredFiles(ids: readonly string[]): Promise<void> {
  await inStore('readwrite', (store) => {
    for (const id of ids) store.delete(id);
    return undefined;
  });
}

/** Resolves when the transaction is committed. Rejects if the browser refuses it. */
async function inStore<Result>(
  mode: IDBTransactionMode,
  use: (store: IDBObjectStore) => IDBRequest<Result> | undefined,
): Promise<Result | undefined> {
  const database = await open();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const request = use(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request?.result);
      transaction.onabort = () => reject(transaction.error ?? new Error('IndexedDB refused the change.'));
    });
  } finally {
    database.close();
  }
}

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'id' });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('IndexedDB cannot be opened.'));
  });
}
