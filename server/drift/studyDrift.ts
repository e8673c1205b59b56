import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StudyDrift } from '../../shared/archive/drift.ts';
import { requireStudy } from '../archive/studies/studies.ts';
import { WorkCoalescer } from '../runtime/workCoalescer.ts';
import { relatingPacks } from '../store/sqlite/archive/studies.ts';
import type { Store } from '../store/store.ts';
import { packDrift } from './packDrift.ts';

/** The most packs of a study that are compared. */
const MAX_PACKS = 500;
/** One study at a time, because each pack reads the history of its sources. */
const forReaders = new WeakMap<object, WorkCoalescer<StudyDrift>>();

/**
 * Returns the packs of a study whose related works changed, vanished or returned since, newest pack first.
 *
 * @throws Problem `not_found`
 */
export async function studyDrift(store: Pick<Store, 'read'>, id: string): Promise<StudyDrift> {
  requireStudy(store.read, id);
  let shared = forReaders.get(store.read);
  if (!shared) forReaders.set(store.read, (shared = new WorkCoalescer(1)));
  return shared.run(id, async () => {
    const { rows, total } = relatingPacks(store.read, id, MAX_PACKS);
    const packs: StudyDrift['packs'] = [];
    for (const row of rows) {
      const items = packDrift(store, row.id).items.filter(({ state }) => state !== 'same');
      if (items.length > 0) packs.push({ ...row, items });
      await nextTurn();
    }
    return { study: id, relating: total, compared: rows.length, packs };
  });
}
