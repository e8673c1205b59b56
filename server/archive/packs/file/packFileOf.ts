import { Problem } from '../../../../shared/problems.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../../fixity/confirmDamage.ts';
import { recordTexts } from '../../../store/sqlite/archive/packs.ts';
import { requirePack } from '../readPack.ts';
import { checkRecord } from '../record.ts';
import { type PackFileOutput, writePackFile } from './writePackFile.ts';

/**
 * Returns the pack file of a pack in the archive.
 *
 * @throws Problem `not_found`; `blob_damaged`, here or from a check, if the record or a file is damaged. A damaged file is
 * recorded as damaged, and no pack file is written from it.
 */
export function packFileOf(store: DamageContext, id: string): PackFileOutput {
  const row = requirePack(store.read, id);
  const [stored] = recordTexts(store.read, [row.ledger_entry]);
  const { record, digest } = checkRecord(JSON.parse(stored?.record ?? 'null'));
  if (digest !== row.digest) {
    throw new Problem('blob_damaged', 'The stored record is damaged. Verify the pack for details.');
  }
  return writePackFile(record, {
    reportDamage: ({ sha256 }) => confirmDamage(store, [sha256]),
    read: async function* ({ sha256 }, range) {
      try {
        yield* store.blobs.read(sha256, range);
      } catch (error) {
        if (!isBlobDamageError(error)) throw error;
        await confirmDamage(store, [sha256]);
        throw new Problem(
          'blob_damaged',
          'A file of this pack is missing or cannot be read. Verify the pack for details.',
          { cause: error },
        );
      }
    },
  });
}
