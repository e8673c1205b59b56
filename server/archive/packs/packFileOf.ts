import { Problem } from '../../../shared/problems.ts';
import { isMissing } from '../../store/blobs/blobStore.ts';
import { recordTexts } from '../../store/sqlite/packs.ts';
import type { Store } from '../../store/store.ts';
import { requirePack } from './readPack.ts';
import { checkRecord } from './record.ts';
import { type PackFileOutput, writePackFile } from './writePackFile.ts';

/**
 * The pack file of a pack that the archive holds.
 *
 * @throws Problem `not_found`; `blob_damaged`, here or as it is opened, where the record or a file is not what it was:
 * what is damaged is never packed up as if it were whole.
 */
export function packFileOf({ read, blobs }: Pick<Store, 'read' | 'blobs'>, id: string): PackFileOutput {
  const row = requirePack(read, id);
  const [stored] = recordTexts(read, [row.ledger_entry]);
  const { record, digest } = checkRecord(JSON.parse(stored?.record ?? 'null'));
  if (digest !== row.digest) {
    throw new Problem('blob_damaged', 'The stored record is damaged. Verify the pack to see how.');
  }
  const output = writePackFile(record, ({ sha256 }) => blobs.createReadStream(sha256));
  return {
    ...output,
    open: () =>
      output.open().catch((error: unknown) => {
        throw isMissing(error)
          ? new Problem('blob_damaged', 'A file of this pack is lost.', { cause: error })
          : error;
      }),
  };
}
