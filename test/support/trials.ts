import { inject } from 'vitest';
import { type ObjectStore, objectStoreAt } from './network/objectStore.ts';

/** The object store of all trials; undefined if this machine has none. Every file uses a bucket of its own. */
export function sharedObjectStore(): ObjectStore | undefined {
  const address = inject('objectStore');
  return address && objectStoreAt(address);
}
