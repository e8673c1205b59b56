import type { NewShowing, NewWithholding, Shown, Withholding } from '../../../shared/node/withheld.ts';
import { Problem } from '../../../shared/problems.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { hiddenPartsOfSet, isWithheldWithSet, setsWith } from '../../store/sqlite/archive/sets.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { isWithheldNow, show, showNow, targetOf, withholdAsOwnerNow } from '../../withholding/withholding.ts';
import { findSet } from './readSet.ts';

/** The parts that are withheld or shown before other requests have their turn. */
const PARTS_PER_STEP = 50;

/**
 * Withholds bytes from visitors. Of a set, the manifest is withheld, and then each part as a pack of its own, so that the
 * ledger, dumps and mirrors have it all. It is one transaction with one time, by which `isWithheldWithSet` knows which parts
 * are withheld with the set. A part that is withheld for itself keeps that. If the note of the set changes, that of its parts
 * does, too. Packs that stayed listed are left as they are: another archive's manifest may name them.
 *
 * @throws Problem like `withholdNow`
 */
export async function withholdWithParts(
  store: Store,
  requested: NewWithholding,
): Promise<{ withholding: Withholding; isNew: boolean }> {
  const parts = await partsOf(store, requested.pack);
  if (parts.length === 0)
    return store.write((database) => withholdForItself(database, requested, store.instant()));
  return store.writeInSteps(function* (database) {
    const at = store.instant();
    const made = withholdAsOwnerNow(database, requested, at);
    for (const [index, pack] of parts.entries()) {
      if (index % PARTS_PER_STEP === PARTS_PER_STEP - 1) yield;
      if (!isWithheldNow(database, targetOf({ pack })) || isWithheldWithSet(database, { part: pack }))
        withholdAsOwnerNow(database, { ...requested, pack }, at);
    }
    return made;
  });
}

/** Withholds what is no set. A part that is withheld with its set gets an entry of its own, so that it stays withheld without it. */
function withholdForItself(
  database: WriteDatabase,
  requested: NewWithholding,
  at: string,
): { withholding: Withholding; isNew: boolean } {
  const { pack } = requested;
  const isAnew = pack !== undefined && isWithheldWithSet(database, { part: pack });
  return withholdAsOwnerNow(database, requested, at, { isAnew });
}

/**
 * Shows bytes to visitors again. Of a set, the parts that were withheld with a set are shown, but those of another withheld
 * set are not.
 *
 * @throws Problem like `show`; nothing is shown then
 */
export async function showWithParts(store: Store, requested: NewShowing): Promise<Shown> {
  const parts = await partsOf(store, requested.pack);
  if (parts.length === 0) return show(store, requested);
  return store.writeInSteps(function* (database) {
    const at = store.instant();
    const shown = showNow(database, targetOf(requested), at);
    for (const [index, pack] of parts.entries()) {
      if (index % PARTS_PER_STEP === PARTS_PER_STEP - 1) yield;
      const isOfOther = setsWith(database, pack).some((set) =>
        isWithheldNow(database, targetOf({ pack: set })),
      );
      if (!isOfOther && isWithheldWithSet(database, { part: pack }))
        showNow(database, targetOf({ pack }), at);
    }
    return shown;
  });
}

/** Returns the parts of a set; none for anything else. */
async function partsOf(store: Store, pack: string | undefined): Promise<string[]> {
  const row = pack === undefined ? undefined : packById(store.read, pack);
  if (!row) return [];
  try {
    await findSet(store, row.id);
  } catch (error) {
    // The list of the set may be damaged or given up. Its parts are known if it was ever read.
    if (!(error instanceof Problem)) throw error;
  }
  return hiddenPartsOfSet(store.read, row.ledger_entry);
}
