import type { LedgerProblem } from '../../../../shared/ledger/ledger.ts';

/** The message for each kind of fault. */
export const PROBLEM_TEXTS: Record<LedgerProblem['problem'], string> = {
  missing_entry: 'An entry is missing',
  wrong_prev: 'The entry does not link to the previous entry',
  wrong_hash: 'The content does not match the hash',
  wrong_digest: 'The stored record does not match the entry',
  missing_subject: 'The recorded content is no longer stored',
  wrong_timestamp: 'A timestamp does not hold',
  wrong_root: 'The root does not match the entries',
  database_damaged: 'The database is damaged and cannot be read',
};
