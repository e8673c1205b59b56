/** The bytes of one of the draft's files, as IndexedDB keeps them. */
export interface KeptFile {
  id: string;
  file: File;
}

const DATABASE = 'strongroom-draft';
const STORE = 'files';

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'id' });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('IndexedDB cannot be opened.'));
  });
}

/** Resolves once the change is committed; rejects where the browser refuses to keep it. */
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
      transaction.onabort = () => reject(transaction.error ?? new Error('IndexedDB refused.'));
    });
  } finally {
    database.close();
  }
}

export async function readKeptFiles(): Promise<KeptFile[]> {
  return (await inStore('readonly', (store) => store.getAll() as IDBRequest<KeptFile[]>)) ?? [];
}

/** @throws where the browser has no room or keeps nothing. */
export async function keepFiles(files: readonly KeptFile[]): Promise<void> {
  await inStore('readwrite', (store) => {
    for (const { id, file } of files) store.put({ id, file });
    return undefined;
  });
}

export async function forgetFiles(ids: readonly string[]): Promise<void> {
  await inStore('readwrite', (store) => {
    for (const id of ids) store.delete(id);
    return undefined;
  });
}
