/**
 * The nodes and the studies that packs belong to. The key of each row is the number of the ledger entry that recorded it, so
 * descending order is newest first; so it is for packs, flags and comments.
 */
const STUDIES = `
CREATE TABLE nodes (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  path TEXT NOT NULL UNIQUE,
  parent TEXT REFERENCES nodes (path),
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX nodes_by_parent ON nodes (parent, ledger_entry);

CREATE TABLE studies (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  question TEXT NOT NULL,
  description TEXT NOT NULL,
  node TEXT REFERENCES nodes (path),
  status TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX studies_by_status ON studies (status, ledger_entry);
CREATE INDEX studies_by_node ON studies (node, ledger_entry) WHERE node IS NOT NULL;

CREATE TABLE study_statuses (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  study TEXT NOT NULL REFERENCES studies (id),
  status TEXT NOT NULL,
  note TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX study_statuses_by_study ON study_statuses (study, ledger_entry);

CREATE VIRTUAL TABLE studies_search USING fts5(
  title, question, description, identity,
  content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
);
`;

/**
 * The data packs. `pack_records` holds the canonical text of each record; `packs.digest` is its SHA-256. `packs` repeats the
 * columns that lists sort and count by. It is narrow, so that 100,000 rows are read quickly. `part_of` is the id of the set
 * that a pack says it is a part of, as `setOfPart` reads it from the record; null for a pack of its own.
 *
 * `packs_to_harvest` and `packs_that_are_no_parts` are what harvesters and the sitemap list, in the order of the ledger,
 * without a look at each part of a set. The conditions are those of the queries in `archive/harvest.ts`.
 *
 * `pack_filters` is an inverted index with a row for each pack and filter value; `pack_filter_values.packs` counts them.
 */
const PACKS = `
CREATE TABLE packs (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL UNIQUE CHECK (length(digest) = 64),
  title_key TEXT NOT NULL,
  outcome TEXT NOT NULL,
  tag TEXT NOT NULL,
  study TEXT REFERENCES studies (id),
  replicates TEXT REFERENCES packs (id),
  verdict TEXT,
  original_had_method INTEGER,
  supersedes TEXT REFERENCES packs (id),
  bytes INTEGER NOT NULL,
  files INTEGER NOT NULL,
  record_bytes INTEGER NOT NULL,
  replications INTEGER NOT NULL DEFAULT 0,
  part_of TEXT
) STRICT;
CREATE INDEX packs_by_title ON packs (title_key, ledger_entry);
CREATE INDEX packs_by_replications ON packs (replications, ledger_entry);
CREATE INDEX packs_by_study ON packs (study, ledger_entry, outcome, verdict) WHERE study IS NOT NULL;
CREATE INDEX packs_by_original ON packs (replicates, ledger_entry, verdict) WHERE replicates IS NOT NULL;
CREATE INDEX packs_by_superseded ON packs (supersedes, ledger_entry) WHERE supersedes IS NOT NULL;
CREATE INDEX packs_that_are_parts ON packs (ledger_entry) WHERE part_of IS NOT NULL;
CREATE INDEX packs_that_are_no_parts ON packs (ledger_entry) WHERE part_of IS NULL;
CREATE INDEX packs_to_harvest ON packs (ledger_entry)
  WHERE part_of IS NULL OR supersedes IS NOT NULL OR replicates IS NOT NULL;

CREATE TABLE pack_records (
  ledger_entry INTEGER PRIMARY KEY REFERENCES packs (ledger_entry),
  record TEXT NOT NULL
) STRICT;

CREATE TABLE pack_files (
  pack INTEGER NOT NULL REFERENCES packs (ledger_entry),
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL REFERENCES blobs (sha256),
  bytes INTEGER NOT NULL,
  media_type TEXT NOT NULL,
  PRIMARY KEY (pack, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX pack_files_by_sha256 ON pack_files (sha256, pack);

CREATE TABLE pack_filter_values (
  id INTEGER PRIMARY KEY,
  filter TEXT NOT NULL,
  value TEXT NOT NULL,
  packs INTEGER NOT NULL DEFAULT 0,
  UNIQUE (filter, value)
) STRICT;

CREATE TABLE pack_filters (
  value INTEGER NOT NULL REFERENCES pack_filter_values (id),
  pack INTEGER NOT NULL REFERENCES packs (ledger_entry),
  PRIMARY KEY (value, pack)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER pack_filters_are_counted AFTER INSERT ON pack_filters BEGIN
  UPDATE pack_filter_values SET packs = packs + 1 WHERE id = NEW.value;
END;
CREATE TRIGGER pack_filters_are_uncounted AFTER DELETE ON pack_filters BEGIN
  UPDATE pack_filter_values SET packs = packs - 1 WHERE id = OLD.value;
END;

CREATE VIRTUAL TABLE packs_search USING fts5(
  title, summary, authors, keywords, method, results, identity,
  content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
);

CREATE TABLE pack_flags (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  pack TEXT NOT NULL REFERENCES packs (id),
  reason TEXT NOT NULL,
  note TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX pack_flags_by_pack ON pack_flags (pack, ledger_entry);

CREATE TABLE comments (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  id TEXT NOT NULL UNIQUE,
  item TEXT NOT NULL,
  author TEXT NOT NULL,
  body TEXT NOT NULL,
  reply_to TEXT REFERENCES comments (id),
  at TEXT NOT NULL
) STRICT;
CREATE INDEX comments_by_item ON comments (item, ledger_entry);
`;

/**
 * The drafts of packs and their files, whose contents are in the folder `drafts/` or in the archive. A published draft
 * keeps its row with its pack, without record and files, so that a repeated request gets the same pack.
 *
 * `draft_imports`: drafts into which a record of a repository is being imported, with the address of the record, so that the
 * import can go on in the same draft. A row is deleted when every file has come. Neither drafts nor imports are in a dump.
 */
const DRAFTS = `
CREATE TABLE drafts (
  id TEXT PRIMARY KEY CHECK (length(id) = 23),
  title TEXT NOT NULL,
  record TEXT NOT NULL,
  form TEXT,
  revision INTEGER NOT NULL CHECK (revision > 0),
  created_at TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  pack TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE draft_files (
  draft TEXT NOT NULL REFERENCES drafts (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  media_type TEXT NOT NULL,
  PRIMARY KEY (draft, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE draft_imports (
  draft TEXT PRIMARY KEY REFERENCES drafts (id) ON DELETE CASCADE,
  address TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX draft_imports_by_address ON draft_imports (address);
`;

/**
 * Sets: data of more than one pack. `sets` and `set_parts` repeat what the manifests say, so that a list shows the size of a
 * set without reading its file; `crcs` are the CRC-32s of its files, in the order of their paths, which its ZIP needs.
 * `joined_files` has each part of the files that are in several parts, by the digest of the file, so that the file is withheld
 * and released together with its parts. All of it is derived and in no dump. `draft_parts` are the parts that the publishing of a draft has finished, for the revision that
 * it publishes; `piece` is the digest of a part that is a piece of a file.
 */
const SETS = `
CREATE TABLE sets (
  ledger_entry INTEGER PRIMARY KEY REFERENCES packs (ledger_entry),
  files INTEGER NOT NULL CHECK (files > 0),
  packs INTEGER NOT NULL CHECK (packs >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  crcs BLOB
) STRICT;

CREATE TABLE set_parts (
  part TEXT NOT NULL,
  manifest INTEGER NOT NULL REFERENCES sets (ledger_entry),
  PRIMARY KEY (part, manifest)
) STRICT, WITHOUT ROWID;
CREATE INDEX set_parts_by_manifest ON set_parts (manifest);

CREATE TABLE joined_files (
  sha256 TEXT NOT NULL,
  part TEXT NOT NULL,
  PRIMARY KEY (sha256, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX joined_files_by_part ON joined_files (part);

CREATE TABLE draft_parts (
  draft TEXT NOT NULL REFERENCES drafts (id) ON DELETE CASCADE,
  revision INTEGER NOT NULL,
  position INTEGER NOT NULL,
  pack TEXT NOT NULL,
  piece TEXT,
  PRIMARY KEY (draft, revision, position)
) STRICT, WITHOUT ROWID;
`;

/**
 * Repositories in which packs are deposited, and the deposits. `state`: `sending`, `draft`, `published` or `failed`.
 * `remote`: the id that the repository gave. `may_exist`: 1 if a request that creates the deposit there may have been sent
 * and its answer is not known. Tokens are not here. Like copies, they concern this machine: they are in no dump, and the
 * ledger does not cover them.
 *
 * `pack_deposits`: where packs were published, as the ledger records it: by this node, or by the peer that `pack_provenance`
 * names for the same entry. `deposits.ledger_entry` is that entry.
 */
const DEPOSITS = `
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
  ledger_entry INTEGER,
  UNIQUE (pack, repository)
) STRICT;

CREATE TABLE pack_deposits (
  ledger_entry INTEGER PRIMARY KEY REFERENCES ledger (seq),
  pack TEXT NOT NULL,
  doi TEXT,
  url TEXT NOT NULL,
  repository TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX pack_deposits_by_pack ON pack_deposits (pack);
`;

/** The tables of studies, packs, drafts, sets and deposits. */
export const PACK_TABLES: string = STUDIES + PACKS + DRAFTS + SETS + DEPOSITS;
