import type { NewShowing, NewWithholding, Shown, Withholding } from '../../../shared/node/withheld.ts';
import { Problem } from '../../../shared/problems.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { hiddenPartsOfSet, setsWith } from '../../store/sqlite/archive/sets.ts';
import type { Store } from '../../store/store.ts';
import {
  isWithheldNow,
  show,
  showNow,
  targetOf,
  withhold,
  withholdNow,
} from '../../withholding/withholding.ts';
import { findSet } from './readSet.ts';

/** The parts that are withheld in one transaction. */
const PARTS_AT_ONCE = 50;

/**
 * Withholds bytes from visitors. Of a set, each part is withheld as a pack of its own, and then the manifest, so that the
 * ledger, dumps and mirrors have it all. Packs that stayed listed are left as they are: another archive's manifest may
 * name them. A request that was interrupted is completed by repeating it.
 *
 * @throws Problem like `withhold`
 */
export async function withholdWithParts(
  store: Store,
  requested: NewWithholding,
): Promise<{ withholding: Withholding; isNew: boolean }> {
  for (const parts of await partsOf(store, requested.pack))
    await store.write((database) => {
      for (const pack of parts) withholdNow(database, { ...requested, pack }, store.instant());
    });
  return withhold(store, requested);
}

/** Shows bytes to visitors again, of a set with its parts but those of another withheld set. @throws Problem like `show` */
export async function showWithParts(store: Store, requested: NewShowing): Promise<Shown> {
  for (const parts of await partsOf(store, requested.pack))
    await store.write((database) => {
      for (const pack of parts) {
        const target = targetOf({ pack });
        const isOfOther = setsWith(database, pack).some(
          (set) => set !== requested.pack && isWithheldNow(database, targetOf({ pack: set })),
        );
        if (!isOfOther && isWithheldNow(database, target)) showNow(database, target, store.instant());
      }
    });
  return show(store, requested);
}

/** Returns the parts of a set in groups; none for anything else. */
async function partsOf(store: Store, pack: string | undefined): Promise<string[][]> {
  const row = pack === undefined ? undefined : packById(store.read, pack);
  if (!row) return [];
  try {
    await findSet(store, row.id);
  } catch (error) {
    // The list of the set may be damaged or given up. Its parts are known if it was ever read.
    if (!(error instanceof Problem)) throw error;
  }
  const parts = hiddenPartsOfSet(store.read, row.ledger_entry);
  return Array.from({ length: Math.ceil(parts.length / PARTS_AT_ONCE) }, (_, group) =>
    parts.slice(group * PARTS_AT_ONCE, (group + 1) * PARTS_AT_ONCE),
  );
}
