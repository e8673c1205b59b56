import { errorCode } from '../../../shared/values/errorCode.ts';

/** Whether a file system call failed because there is no such file. */
export function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT';
}

/** Errors that mean that the file's bytes cannot be read. Other errors concern the system, not the file. */
const UNREADABLE = new Set<string | undefined>(['EIO', 'EISDIR', 'ELOOP', 'ENOTDIR', 'EBADMSG', 'EUCLEAN']);

/** Whether a file system call failed because the file cannot be read. */
export function isUnreadable(error: unknown): boolean {
  return UNREADABLE.has(errorCode(error));
}

/** Whether a file system call failed because the disk is full or the quota is used up. */
export function isNoSpace(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}
