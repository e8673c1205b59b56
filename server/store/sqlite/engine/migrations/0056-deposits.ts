import type { Migration } from '../migration.ts';

/**
 * Repositories in which packs are deposited, and the deposits. `state`: `sending`, `draft`, `published` or `failed`.
 * `remote`: the id that the repository gave. `may_exist`: 1 if a request that creates the deposit there may have been sent
 * and its answer is not known. Tokens are not here. Like copies, they concern this machine: they are in no dump, and the
 * ledger does not cover them.
 */
export const migration: Migration = {
  number: 56,
  sql: `
CREATE TABLE deposit_repositories (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  url TEXT NOT NULL,
  community TEXT,
  added_at TEXT NOT NULL
) STRICT;

CREATE TABLE deposits (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  pack TEXT NOT NULL,
  repository TEXT NOT NULL,
  repository_kind TEXT NOT NULL,
  repository_url TEXT NOT NULL,
  publish INTEGER NOT NULL,
  state TEXT NOT NULL,
  remote TEXT,
  may_exist INTEGER NOT NULL DEFAULT 0,
  url TEXT,
  doi TEXT,
  in_review INTEGER NOT NULL DEFAULT 0,
  files INTEGER NOT NULL DEFAULT 0,
  compared INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  published_at TEXT,
  UNIQUE (pack, repository)
) STRICT;
`,
};
