import { createHash, hash } from 'node:crypto';
import { closeSync, constants, fstatSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { fill } from '../../hashing/hashInThreads.ts';
import { isMissing, writeAllSync } from '../../store/files.ts';

/** A file to read and hash and, with `to`, to copy. */
export interface FileTask {
  from: string;
  /** `createsParents`: missing parent folders are created. Those of a disk that is not mounted must not be. */
  to?: { file: string; mode: number; createsParents: boolean } | undefined;
  /** Reading ends one byte after this many, so that a wrong file cannot fill a disk. */
  maxBytes: number;
  /** Whether a symbolic link counts as no file. In a copy, it would be what somebody else made of one. */
  refusesLinks?: boolean;
}

/** The digest of what was read, or why a file could not be read or written. */
export type FileResult =
  | { sha256: string; bytes: number }
  | { failed: 'read' | 'write'; code: string; message: string };

/** The code of what is no regular file: a folder, or a pipe, which could be waited for without end. */
export const NO_FILE = 'ENOFILE';
/** Opening a pipe does not wait for another program then. Windows does not have it. */
const READ_ONLY = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const NO_LINK = constants.O_NOFOLLOW ?? 0;

/** The place of an error. */
class FailedAt extends Error {
  readonly side: 'read' | 'write';

  constructor(side: 'read' | 'write', cause: unknown) {
    super('A file could not be copied.', { cause });
    this.side = side;
  }
}

/** Large enough for few system calls, small enough for the cache of a core. */
const BUFFER_BYTES = 524_288;
/** Reused for all files: allocating one for each costs more than copying a small file. Each thread has its own. */
let buffer: Buffer | undefined;

/**
 * Reads a file once, hashes it and copies it. The copy is not synced. If it fails, no file is left at `to`.
 *
 * @throws errors that no file system call made
 */
export function copyFileSync({ from, to, maxBytes, refusesLinks = false }: FileTask): FileResult {
  try {
    const flags = READ_ONLY | (refusesLinks ? NO_LINK : 0);
    const source = at('read', () => openSync(from, flags));
    try {
      at('read', () => requireFile(source, from));
      if (to === undefined) return copyBytes(source, undefined, maxBytes);
      const target = at('write', () => create(to));
      try {
        return copyBytes(source, target, maxBytes);
      } catch (error) {
        rmSync(to.file, { force: true });
        throw error;
      } finally {
        closeSync(target);
      }
    } finally {
      closeSync(source);
    }
  } catch (error) {
    const code = error instanceof FailedAt ? errorCode(error.cause) : undefined;
    if (!(error instanceof FailedAt) || code === undefined) throw error;
    return { failed: error.side, code, message: String(error.cause) };
  }
}

function at<Result>(side: 'read' | 'write', work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new FailedAt(side, error);
  }
}

function requireFile(source: number, from: string): void {
  if (!fstatSync(source).isFile())
    throw Object.assign(new Error(`${from} is not a regular file.`), { code: NO_FILE });
}

function create({ file, mode, createsParents }: NonNullable<FileTask['to']>): number {
  try {
    return openSync(file, 'w', mode);
  } catch (error) {
    if (!createsParents || !isMissing(error)) throw error;
    mkdirSync(dirname(file), { recursive: true, mode: mode | ((mode & 0o444) >> 2) });
    return openSync(file, 'w', mode);
  }
}

function copyBytes(source: number, target: number | undefined, maxBytes: number) {
  buffer ??= Buffer.allocUnsafeSlow(BUFFER_BYTES);
  const block = buffer;
  const isSmall = at('read', () => fstatSync(source)).size <= block.length;
  const digest = isSmall ? undefined : createHash('sha256');
  let bytes = 0;
  for (;;) {
    const read = at('read', () => fill(source, block));
    const part = block.subarray(0, read);
    digest?.update(part);
    if (target !== undefined) at('write', () => writeAllSync(target, part));
    bytes += read;
    // Hashing at once costs a third of what a `Hash` object costs for a small file.
    if (digest === undefined) return { sha256: hash('sha256', part, 'hex'), bytes };
    if (read < block.length || bytes > maxBytes) return { sha256: digest.digest('hex'), bytes };
  }
}
