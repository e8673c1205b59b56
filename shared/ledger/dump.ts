/** The version of the dump format that is written. */
export const DUMP_FORMAT = 2;
/** The format used before the ledger covered retrievals. It can still be restored. */
export const FORMAT_WITHOUT_BATCHES = 1;
