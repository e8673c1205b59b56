/** The version of the dump's format, in its header. */
export const DUMP_FORMAT = 1;
