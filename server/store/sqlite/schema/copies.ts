/**
 * The copies of the archive and what each of them holds.
 *
 * | Column | |
 * |---|---|
 * | `owner_token` | a random token by which a copy knows the data folder that writes to it |
 * | `synced_size` | the size of the ledger in the copy's last checkpoint; 0 if it has none |
 * | `read_back_at` | when the last complete check of the copy began |
 * | `kept_key` | the verifier key whose private key is in the copy |
 * | `pages`, `public_url` | whether the owner wants pages for readers in the copy, and where readers find them |
 * | `pages_size` | the size of the ledger that these pages show; 0 if they are to be written anew |
 * | `pages_version` | the version of their design |
 * | `case_changes` | how often cases changed since the last sync: no ledger entry makes the copy behind for that |
 * | `synced_proofs` | describes the timestamps and cosignatures that the copy has; see `proofsState` |
 * | `synced_state` | the digest of the file `state/<size>.jsonl` that the last sync wrote; null if it is not known |
 * | `is_listed` | whether `copied_files` is the list of the copy's files; 0 until its first list was written, and after it lost what it had |
 * | `sending_size` | the size of the checkpoint that was sent last, recorded before it is sent |
 * | `is_sending` | 1 from before a sync sends anything until everything that it had to remove is gone |
 * | `kept_recipient` | whom sealed findings are encrypted to whose identity is in its file of the key; null if none is |
 * | `withheld_cleaned` | how many objects the copy had in the clear and no longer has |
 * | `last_drill`, `proven_drill` | the last restore drill, and the last that succeeded, as JSON |
 * | `drill_failing_since` | when the drills began to fail for the reason of the last one; null if it succeeded |
 *
 * `copied_objects`: the objects that a copy holds. `left_out_objects`: those that its records name and that it was not
 * sent, because they are withheld and it has pages, or because they are damaged here or never came. They are sent as soon
 * as they may.
 *
 * Copies, their drills and audits concern this machine: they are in no dump, and the ledger does not cover them.
 */
const COPIES = `
CREATE TABLE copies (
  id TEXT PRIMARY KEY CHECK (length(id) = 23),
  target TEXT NOT NULL,
  endpoint TEXT,
  region TEXT,
  every_minutes INTEGER CHECK (every_minutes > 0),
  owner_token TEXT NOT NULL,
  added_at TEXT NOT NULL,
  synced_size INTEGER NOT NULL DEFAULT 0,
  synced_at TEXT,
  checked_at TEXT,
  last_error TEXT,
  read_back_at TEXT,
  kept_key TEXT,
  pages INTEGER NOT NULL DEFAULT 0 CHECK (pages IN (0, 1)),
  public_url TEXT,
  pages_size INTEGER NOT NULL DEFAULT 0,
  pages_version INTEGER NOT NULL DEFAULT 0,
  case_changes INTEGER NOT NULL DEFAULT 0,
  synced_proofs TEXT NOT NULL DEFAULT '',
  synced_state TEXT,
  is_listed INTEGER NOT NULL DEFAULT 0 CHECK (is_listed IN (0, 1)),
  sending_size INTEGER,
  is_sending INTEGER NOT NULL DEFAULT 0 CHECK (is_sending IN (0, 1)),
  kept_recipient TEXT,
  withheld_cleaned INTEGER NOT NULL DEFAULT 0,
  last_drill TEXT,
  proven_drill TEXT,
  drill_failing_since TEXT,
  UNIQUE (target, endpoint)
) STRICT, WITHOUT ROWID;

CREATE TABLE copied_objects (
  copy TEXT NOT NULL REFERENCES copies (id) ON DELETE CASCADE,
  sha256 TEXT NOT NULL,
  checked_at TEXT,
  PRIMARY KEY (copy, sha256)
) STRICT, WITHOUT ROWID;

CREATE TABLE left_out_objects (
  copy TEXT NOT NULL REFERENCES copies (id) ON DELETE CASCADE,
  sha256 TEXT NOT NULL,
  PRIMARY KEY (copy, sha256)
) STRICT, WITHOUT ROWID;
`;

/**
 * `copied_files`: the files that a copy has besides its objects, with their digests, in the order of its list; see
 * `docs/static-archive.md`. `place` is where the path falls in that order; files of the list itself have negative places. A
 * file that is `passing` is replaced by one of another name as the ledger grows; one that is `gone` is still to be removed.
 * `copied_file_changes`: the places of the files that changed since the list was written.
 */
const COPIED_FILES = `
CREATE TABLE copied_files (
  copy TEXT NOT NULL REFERENCES copies (id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  path TEXT NOT NULL,
  sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
  state TEXT NOT NULL CHECK (state IN ('kept', 'passing', 'gone')),
  PRIMARY KEY (copy, place, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX copied_files_to_replace ON copied_files (copy, state) WHERE state <> 'kept';
CREATE INDEX copied_withheld_files ON copied_files (copy, path) WHERE path GLOB 'withheld/*';

CREATE TABLE copied_file_changes (
  copy TEXT NOT NULL REFERENCES copies (id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  PRIMARY KEY (copy, place)
) STRICT, WITHOUT ROWID;
`;

/** The tables of the copies. */
export const COPY_TABLES: string = COPIES + COPIED_FILES;
