import type { PackDeposit, PublishedDeposit, RecordedDeposit } from '../../../../shared/node/deposit.ts';
import type { ReadDatabase } from '../engine/open.ts';
import { inserts, selectAll, selectEach, selectPage, selectValue } from '../engine/queries.ts';

/** What the ledger records of packs that were published in repositories. */
export type PackDepositRow = RecordedDeposit & { ledger_entry: number };

const COLUMNS = 'ledger_entry, pack, doi, url, repository, at';

export const insertPackDeposit = inserts<PackDepositRow>('pack_deposits', COLUMNS);

/** Iterates over all of them, in ledger order. */
export const iteratePackDeposits = selectEach<PackDepositRow>(
  `SELECT ${COLUMNS} FROM pack_deposits ORDER BY ledger_entry`,
);

/** Returns the entry that records that a pack was published at an address, or undefined. */
export const packDepositAt = selectValue<number, [pack: string, url: string]>(
  'SELECT ledger_entry FROM pack_deposits WHERE pack = ? AND url = ?',
);

/** The peer that said so, as JSON; null for a deposit by this node. */
const PEER = `(SELECT record -> '$.peer' FROM pack_provenance p WHERE p.ledger_entry = d.ledger_entry) AS peer`;

type WithPeer<Row> = Omit<Row, 'peer'> & { peer: string | null };

function parsePeer<Row extends object>({ peer, ...row }: WithPeer<Row>): Row {
  return { ...row, ...(peer !== null && { peer: JSON.parse(peer) as unknown }) } as Row;
}

/** Returns a page of them, newest first. */
export const packDepositsPage = selectPage<WithPeer<PackDeposit>, [], PackDeposit>(
  { columns: `${COLUMNS}, ${PEER}`, from: 'pack_deposits d', order: 'ledger_entry DESC' },
  (row) => parsePeer<PackDeposit>(row),
);

/**
 * Returns where a pack was published, by the entries of a ledger of this size. The first is the one that is cited: a
 * peer does not come before this node.
 */
export function publishedDepositsOf(
  database: ReadDatabase,
  pack: string,
  size = Number.MAX_SAFE_INTEGER,
): PublishedDeposit[] {
  return depositsOf(database, pack, size);
}
const depositsOf = selectAll<WithPeer<PublishedDeposit>, [pack: string, size: number], PublishedDeposit>(
  `SELECT doi, url, at AS published_at, ledger_entry, ${PEER} FROM pack_deposits d
   WHERE pack = ? AND ledger_entry <= ? ORDER BY peer IS NOT NULL, at, ledger_entry`,
  (row) => parsePeer<PublishedDeposit>(row),
);

/** Returns the DOI by which a pack is cited; undefined if no deposit of it is published with one. */
export function publishedDoi(
  database: ReadDatabase,
  pack: string,
  size = Number.MAX_SAFE_INTEGER,
): string | undefined {
  return firstDoi(database, pack, size);
}
const firstDoi = selectValue<string, [pack: string, size: number]>(
  `SELECT doi, ${PEER} FROM pack_deposits d WHERE pack = ? AND ledger_entry <= ? AND doi IS NOT NULL
   ORDER BY peer IS NOT NULL, at, ledger_entry LIMIT 1`,
);

/** Returns how many deposits of a pack are recorded. */
export const countPackDeposits = selectValue<number, [pack: string]>(
  'SELECT count(*) FROM pack_deposits WHERE pack = ?',
  0,
);
