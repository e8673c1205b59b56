import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';

const open: Store[] = [];

/** Opens the store in a data folder, without a node. */
export async function openTestStore(folder: string): Promise<Store> {
  const store = await openStore({ folder, clock: systemClock });
  open.push(store);
  return store;
}

/** Closes the stores that are open. */
export async function closeTestStores(): Promise<void> {
  for (const store of open.splice(0)) await store.close();
}
