import type { NewFlag } from '../../../shared/archive/pack.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { addPackFilter, removePackFilter } from '../../store/sqlite/archive/packLists.ts';
import { type FlagRow, insertFlag } from '../../store/sqlite/archive/packs.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { flagDigest } from '../recordedSubjects.ts';
import { requirePack } from './readPack.ts';

/** Adds a flag to a pack. Flags are public and permanent. @throws Problem `not_found` */
export async function flagPack(store: Store, id: string, { reason, note }: NewFlag): Promise<void> {
  const { ledger_entry: pack } = requirePack(store.read, id);
  await store.write((database) => {
    const flag = { pack: id, reason, note, at: store.instant() };
    const { seq } = appendEntry(database, {
      type: 'pack.flagged',
      subject: id,
      digest: flagDigest(flag),
      at: flag.at,
    });
    insertFlagRows(database, pack, { ...flag, ledger_entry: seq });
  });
}

/** Writes the rows of a flag on the pack whose ledger entry is `pack`. */
export function insertFlagRows(
  database: WriteDatabase,
  pack: number,
  flag: FlagRow & { ledger_entry: number },
): void {
  insertFlag(database, flag);
  removePackFilter(database, pack, { filter: 'flagged', value: 'false' });
  addPackFilter(database, pack, { filter: 'flagged', value: 'true' });
}
