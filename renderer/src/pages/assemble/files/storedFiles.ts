/** The contents of a draft file, as stored in IndexedDB. */
export interface StoredFile {
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
