/** Versions larger than this, stored or decoded, are compared by their bytes. */
export const MAX_DIFF_MEGABYTES = 33;
/** Time limit for a comparison, plus the time for reading both versions at this speed. */
export const DIFF_TIMEOUT_MS = 25_000;
export const BYTES_PER_MS = 50_000;
