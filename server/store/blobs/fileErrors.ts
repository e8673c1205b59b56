/** Whether a file system call failed because there is no such file. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

/** What says that the bytes themselves cannot be had; other errors are the system's and say nothing of them. */
const UNREADABLE = new Set<unknown>(['EIO', 'EISDIR', 'ELOOP', 'ENOTDIR', 'EBADMSG', 'EUCLEAN']);

/** Whether a file system call failed because what lies there cannot be read as a file. */
export function isUnreadable(error: unknown): boolean {
  return UNREADABLE.has(codeOf(error));
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Whether it failed because the disk, or this account's share of it, is full. */
export function isNoSpace(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}
