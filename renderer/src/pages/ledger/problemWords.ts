import type { LedgerProblem } from '../../../../shared/ledger.ts';

/** What each kind of fault means. */
export const PROBLEM_WORDS: Record<LedgerProblem['problem'], string> = {
  missing_entry: 'An entry is missing',
  wrong_prev: 'It does not link to the entry before it',
  wrong_hash: 'Its content does not hash to its hash',
  wrong_digest: 'What the archive holds is not what was recorded',
  missing_subject: 'The archive no longer holds what was recorded',
  wrong_root: 'The root of the tree does not follow from the entries',
  database_damaged: 'The database is damaged and cannot be read',
};
