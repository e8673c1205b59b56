import { createTreeNode } from '../../server/archive/studies.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';

/** Adds entries to the ledger of a closed data folder, in a tenth of the time that requests take. */
export async function addEntries(dataFolder: string, count: number): Promise<void> {
  const store = await openTestStore(dataFolder);
  const subjects = Array.from({ length: count }, (_, index) => ({
    path: `n${index}`,
    title: 'x',
    description: '',
  }));
  await Promise.all(subjects.map((subject) => createTreeNode(store, subject)));
  await closeTestStores();
}
