/**
 * All limits on input. MB and GB are powers of ten, MiB are powers of two.
 */

/** The defaults of the seven limits on POST requests to the data-pack archive. The owner can change them. */
export const WRITE_LIMITS = {
  data_cap_gb: 10,
  min_free_disk_gb: 5,
  ip_writes_per_hour: 30,
  ip_writes_per_day: 200,
  ip_mb_per_day: 100,
  site_writes_per_hour: 1000,
  site_gb_per_day: 2,
} as const;

/** The largest pack file as sent, and the largest total size of a pack's files. */
export const MAX_PACK_BYTES = 52_428_800;

export const MEBIBYTE = 1_048_576;
export const MEGABYTE = 1_000_000;
export const GIGABYTE = 1_000_000_000;

/** The largest JSON body of an endpoint, except for the record of a pack. */
export const MAX_JSON_BYTES = MEBIBYTE;
/** The largest request to a witness: a proof of 63 hashes, and a checkpoint with many signatures. */
export const MAX_WITNESS_REQUEST_BYTES = 65_536;
/** The largest record of a pack as sent. */
export const MAX_RECORD_BYTES = 4 * MEBIBYTE;
export const MAX_PACK_FILES = 5_000;
/** The deepest nesting of a JSON body. No record needs more, and it would exhaust the stack of recursive readers. */
export const MAX_JSON_DEPTH = 100;
/** The most values in a JSON body. The record of a pack with 5,000 files has 26,000. */
export const MAX_JSON_VALUES = 30_000;
/** The same for bodies that visitors may send, except the record of a pack. */
export const MAX_VISITOR_JSON_VALUES = 5_000;

/** The number of drafts of packs. */
export const MAX_DRAFTS = 100;
/** The least size of the files of a draft, and of all drafts; the setting `max_set_gb` may allow more. */
export const MAX_DRAFT_BYTES = 2 * MAX_PACK_BYTES;
export const MAX_ALL_DRAFTS_BYTES = 20 * MAX_PACK_BYTES;
/** The largest number of files of a set, and of a draft. */
export const MAX_SET_FILES = 100_000;
/** The longest path in a draft. It may be longer than in a pack, because it can still be corrected. */
export const MAX_DRAFT_PATH = 4_096;

export const MIN_LIST_LIMIT = 1;
export const MAX_LIST_LIMIT = 500;
export const DEFAULT_LIST_LIMIT = 100;

/** The maximum number of children, of studies and of packs on the page of a tree node. */
export const MAX_NODE_LISTING = 100;

/** The current versions of the terms that an uploader accepts and of the pack format. */
export const TERMS_VERSION = '2026-10-01';
export const PACK_FORMAT = 1;

/** The largest capture file, as sent and uncompressed. */
export const MAX_CAPTURE_FILE_BYTES = 20 * GIGABYTE;
export const MAX_CAPTURE_UNPACKED_BYTES = 200 * GIGABYTE;

/** What one run takes from a peer, and leaves to the owner, at most. The next run goes on. */
export interface MirrorLimits {
  requests: number;
  bytes: number;
  hours: number;
  /** How often it withholds something because of the peer, or shows it again. */
  withholdings: number;
  /** The proposals of one peer that wait for the owner. */
  proposals: number;
}

export const MIRROR_LIMITS: MirrorLimits = {
  requests: 1_000_000,
  bytes: 1_000 * GIGABYTE,
  hours: 24,
  withholdings: 1_000,
  proposals: 1_000,
};
