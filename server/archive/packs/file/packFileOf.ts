import { Problem } from '../../../../shared/problems.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../../fixity/confirmDamage.ts';
import { recordTexts } from '../../../store/sqlite/archive/packs.ts';
import { requirePack } from '../readPack.ts';
import { checkRecord } from '../record.ts';
import { type PackFileOutput, writePackFile } from './writePackFile.ts';

/**
 * The pack file of a pack that the archive holds.
 *
 * @throws Problem `not_found`; `blob_damaged`, here or as it is opened, where the record or a file is not what it was:
 * what is damaged is never packed up as if it were whole, and is recorded as damaged.
 */
export function packFileOf(store: DamageContext, id: string): PackFileOutput {
  const row = requirePack(store.read, id);
  const [stored] = recordTexts(store.read, [row.ledger_entry]);
  const { record, digest } = checkRecord(JSON.parse(stored?.record ?? 'null'));
  if (digest !== row.digest) {
    throw new Problem('blob_damaged', 'The stored record is damaged. Verify the pack to see how.');
  }
  /** The file that is being read: they are read one after the other. */
  let current: string | undefined;
  const output = writePackFile(record, async function* ({ sha256 }) {
    current = sha256;
    try {
      yield* store.blobs.createReadStream(sha256) as AsyncIterable<Uint8Array>;
    } catch (error) {
      if (!isBlobDamageError(error)) throw error;
      await confirmDamage(store, [sha256]);
      throw new Problem('blob_damaged', 'A file of this pack is lost or cannot be read.', { cause: error });
    }
  });
  return {
    ...output,
    open: () =>
      output.open().catch(async (error: unknown) => {
        if (current !== undefined && isBlobDamageError(error)) await confirmDamage(store, [current]);
        throw error;
      }),
  };
}
