/** Returns the `code` of an error of Node, SQLite or a library, for example `ENOSPC`; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
