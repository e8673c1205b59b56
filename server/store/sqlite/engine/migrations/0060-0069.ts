import type { Migration } from '../migration.ts';

/** `insertPage` covers a page that is drawn from a withheld object, with the rule that restoring an archive replays. */
const pagesAreCoveredByCode: Migration = {
  number: 60,
  sql: 'DROP TRIGGER pages_of_withheld_objects;',
};

export const MIGRATIONS_60_TO_69: readonly Migration[] = [pagesAreCoveredByCode];
