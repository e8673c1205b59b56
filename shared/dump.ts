/** The version of the dump's format, in its header. */
export const DUMP_FORMAT = 2;
/** The format before the ledger covered retrievals; such a dump is still read back. */
export const FORMAT_WITHOUT_BATCHES = 1;
