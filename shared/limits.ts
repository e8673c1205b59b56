/**
 * Every number that bounds an input, with the name it has in the interface or, where it has none,
 * a name that says whose limit it is. MB and GB are powers of ten; MiB are powers of two.
 */

/** The owner may change these seven in the settings; they govern the data-pack archive's POST endpoints. */
export const WRITE_LIMITS = {
  data_cap_gb: 10,
  min_free_disk_gb: 5,
  ip_writes_per_hour: 30,
  ip_writes_per_day: 200,
  ip_mb_per_day: 100,
  site_writes_per_hour: 1000,
  site_gb_per_day: 2,
} as const;

/** A pack file as sent, and the sum of a pack's file bytes, are each at most this (rule A-F3). */
export const MAX_PACK_BYTES = 52_428_800;

export const MEBIBYTE = 1_048_576;
export const MEGABYTE = 1_000_000;
export const GIGABYTE = 1_000_000_000;

/** The largest JSON body of any endpoint but a pack's record. */
export const MAX_JSON_BYTES = MEBIBYTE;
/** The largest record of a pack, as sent. */
export const MAX_RECORD_BYTES = 4 * MEBIBYTE;
export const MAX_PACK_FILES = 5_000;

export const MIN_LIST_LIMIT = 1;
export const MAX_LIST_LIMIT = 500;
export const DEFAULT_LIST_LIMIT = 100;

/** The children, studies and packs that one node's page carries, each at most this many. */
export const MAX_NODE_LISTING = 100;

/** The version of the terms that an uploader accepts, and of the pack format that is written. */
export const TERMS_VERSION = '2026-10-01';
export const PACK_FORMAT = 1;

/** The largest file of captures that is taken, as sent and unpacked. */
export const MAX_CAPTURE_FILE_BYTES = 20 * GIGABYTE;
export const MAX_CAPTURE_UNPACKED_BYTES = 200 * GIGABYTE;
