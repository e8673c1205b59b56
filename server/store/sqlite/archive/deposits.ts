import type {
  Deposit,
  PackDeposit,
  PublishedDeposit,
  RecordedDeposit,
  Repository,
} from '../../../../shared/node/deposit.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  countRows,
  inserts,
  selectAll,
  selectEach,
  selectOne,
  selectPage,
  selectValue,
  selectValues,
  updates,
} from '../engine/queries.ts';

/** What the ledger records of packs that were published in repositories. */
type PackDepositRow = RecordedDeposit & { ledger_entry: number };

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
export const countPackDeposits = countRows<[pack: string]>('pack_deposits WHERE pack = ?');

export type RepositoryRow = Omit<Repository, 'has_token'>;

const REPOSITORY = 'id, kind, url, community, added_at';

export const insertRepository = inserts<RepositoryRow>('deposit_repositories', REPOSITORY);

export const repositoryById = selectOne<RepositoryRow, [id: string]>(
  `SELECT ${REPOSITORY} FROM deposit_repositories WHERE id = ?`,
);

export const repositoryAt = selectOne<RepositoryRow, [kind: string, url: string, community: string | null]>(
  `SELECT ${REPOSITORY} FROM deposit_repositories WHERE kind = ? AND url = ? AND community IS ?`,
);

/** Returns a page of the repositories, oldest first. */
export const repositoriesPage = selectPage<RepositoryRow>({
  columns: REPOSITORY,
  from: 'deposit_repositories',
  order: 'number',
});

export const deleteRepository = change<[id: string]>('DELETE FROM deposit_repositories WHERE id = ?');

/** A deposit, as the database knows it. */
export interface DepositRow extends Omit<Deposit, 'publish' | 'in_review'> {
  publish: number;
  in_review: number;
  /** The id that the repository gave it; null until it did. */
  remote: string | null;
  /** Whether it may exist in the repository although `remote` is null: 1 or 0. */
  may_exist: number;
  /** The entry `pack.deposited`; null until it is published. */
  ledger_entry: number | null;
}

const CHANGING =
  'publish, state, remote, may_exist, url, doi, in_review, files, compared, error, updated_at, published_at, ledger_entry';
const DEPOSIT = `id, pack, repository, repository_kind, repository_url, created_at, ${CHANGING}`;

export const insertDeposit = inserts<DepositRow>('deposits', DEPOSIT);

export const depositById = selectOne<DepositRow, [id: string]>(
  `SELECT ${DEPOSIT} FROM deposits WHERE id = ?`,
);

export const depositOf = selectOne<DepositRow, [pack: string, repository: string]>(
  `SELECT ${DEPOSIT} FROM deposits WHERE pack = ? AND repository = ?`,
);

/** Changes columns of a deposit. */
export function changeDeposit(
  database: WriteDatabase,
  id: string,
  changes: Partial<DepositRow> & { updated_at: string },
): void {
  const row = depositById(database, id);
  if (row) updateDeposit(database, { ...row, ...changes });
}
const updateDeposit = updates<DepositRow>('deposits', { key: 'id', columns: CHANGING });

/** Returns the deposits that were running when the node ended, oldest first. */
export const sendingDeposits = selectValues<string>(
  "SELECT id FROM deposits WHERE state = 'sending' ORDER BY number",
);

export const depositsInRepository = selectValues<string, [repository: string]>(
  'SELECT id FROM deposits WHERE repository = ?',
);

/** Returns a page of the deposits, newest first; those of one pack, or all if it is null. */
export const depositsPage = selectPage<DepositRow, [{ pack: string | null }]>({
  columns: DEPOSIT,
  from: 'deposits WHERE $pack IS NULL OR pack = $pack',
  order: 'number DESC',
});
