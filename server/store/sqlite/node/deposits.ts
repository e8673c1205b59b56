import type { Deposit, Repository } from '../../../../shared/node/deposit.ts';
import type { WriteDatabase } from '../engine/open.ts';
import { change, inserts, selectOne, selectPage, selectValues, update } from '../engine/queries.ts';

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
export const repositoriesPage = selectPage<RepositoryRow>(
  {
    columns: REPOSITORY,
    from: 'deposit_repositories',
    order: 'number',
  },
  (row) => row,
);

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
  if (row) update(database, 'deposits', { key: 'id', columns: CHANGING }, { ...row, ...changes });
}

/** Returns the deposits that were running when the node ended, oldest first. */
export const sendingDeposits = selectValues<string>(
  "SELECT id FROM deposits WHERE state = 'sending' ORDER BY number",
);

/** Returns the published deposits that the ledger does not record yet, oldest first: those of earlier versions. */
export const unrecordedDeposits = selectValues<string>(
  "SELECT id FROM deposits WHERE state = 'published' AND ledger_entry IS NULL ORDER BY published_at, number",
);

export const depositsInRepository = selectValues<string, [repository: string]>(
  'SELECT id FROM deposits WHERE repository = ?',
);

/** Returns a page of the deposits, newest first; those of one pack, or all if it is null. */
export const depositsPage = selectPage<DepositRow, [{ pack: string | null }]>(
  {
    columns: DEPOSIT,
    from: 'deposits WHERE $pack IS NULL OR pack = $pack',
    order: 'number DESC',
  },
  (row) => row,
);
