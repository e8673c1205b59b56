/** Versions larger than this, as they are stored or decoded, are compared by their bytes. */
export const MAX_DIFF_MEGABYTES = 33;
/** How long a comparison may take, and as much more for each byte of the two versions as reading it takes. */
export const DIFF_TIMEOUT_MS = 25_000;
export const BYTES_PER_MS = 50_000;
