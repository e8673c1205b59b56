/** Whether a file system call failed because there is no such file. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

/** Errors that mean that the file's bytes cannot be read. Other errors concern the system, not the file. */
const UNREADABLE = new Set<unknown>(['EIO', 'EISDIR', 'ELOOP', 'ENOTDIR', 'EBADMSG', 'EUCLEAN']);

/** Whether a file system call failed because the file cannot be read. */
export function isUnreadable(error: unknown): boolean {
  return UNREADABLE.has(codeOf(error));
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Whether a file system call failed because the disk is full or the quota is used up. */
export function isNoSpace(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}
