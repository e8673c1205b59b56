import type { Store } from './store.ts';

/**
 * Looks a thing up in what is committed, once for as long as nothing else is committed: every commit makes all of it
 * forgotten, whatever it was about, so that nothing has to be known of what depends on what. To ask SQLite costs some
 * calls of the system each time, for its locks; this costs none.
 *
 * @param look reads by `store.read` and is synchronous, so that nothing can be committed between its look and its being
 * remembered. What it throws is not remembered.
 * @param most how many are remembered; the oldest are forgotten first.
 */
export function commitScopedCache<Found extends object>(
  { onCommit }: Pick<Store, 'onCommit'>,
  most: number,
  look: (key: string) => Found,
): (key: string) => Found {
  const remembered = new Map<string, Found>();
  onCommit(() => remembered.clear());
  return (key) => {
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const found = look(key);
    remembered.set(key, found);
    if (remembered.size > most) remembered.delete(remembered.keys().next().value ?? '');
    return found;
  };
}
