import type { RecordedDeposit } from '../../../shared/node/deposit.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { fingerprintOver } from '../../ledger/entry.ts';
import { insertPackDeposit, packDepositAt } from '../../store/sqlite/archive/deposits.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';

/** Where packs were published. It is public. */
export { packDepositsPage as listPackDeposits } from '../../store/sqlite/archive/deposits.ts';

/** The digest that an entry `pack.deposited` records. */
export const depositDigest: (deposit: RecordedDeposit) => string = fingerprintOver([
  'pack',
  'doi',
  'url',
  'repository',
  'at',
]);

/**
 * Records where a pack was published, inside the caller's transaction. What is recorded of this pack and this address
 * stays as it is.
 *
 * @param now the time of the entry
 * @returns the number of the entry, and whether it is new
 * @throws Problem `archive_read_only`
 */
export function recordDeposit(
  database: WriteDatabase,
  deposit: RecordedDeposit,
  now: string,
): { entry: number; isNew: boolean } {
  const known = packDepositAt(database, deposit.pack, deposit.url);
  if (known !== undefined) return { entry: known, isNew: false };
  const { seq } = appendEntry(database, {
    type: 'pack.deposited',
    subject: deposit.pack,
    digest: depositDigest(deposit),
    at: now,
  });
  insertPackDeposit(database, { ledger_entry: seq, ...deposit });
  return { entry: seq, isNew: true };
}
