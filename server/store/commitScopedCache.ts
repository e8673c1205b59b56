import type { Store } from './store.ts';

/**
 * Caches lookups in committed data. Every commit clears the whole cache, so no entry needs to know what it depends on.
 * A hit saves the system calls for locks that each SQLite query makes.
 *
 * @param look reads through `store.read`. It is synchronous, so no commit can come between the read and the caching.
 * Errors are not cached.
 * @param most the maximum number of entries; the oldest is evicted first.
 */
export function commitScopedCache<Found extends object>(
  { onCommit }: Pick<Store, 'onCommit'>,
  most: number,
  look: (key: string) => Found,
): (key: string) => Found {
  const cache = new Map<string, Found>();
  onCommit(() => cache.clear());
  return (key) => {
    const cached = cache.get(key);
    if (cached !== undefined) return cached;
    const found = look(key);
    cache.set(key, found);
    if (cache.size > most) cache.delete(cache.keys().next().value ?? '');
    return found;
  };
}
