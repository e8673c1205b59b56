import { createHash, hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../../shared/problems.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { fileChunks, isMissing, isUnreadable } from '../../store/files.ts';

/** A stored object that must have this digest: a file, or what reads it. */
export type StoredPayload = ({ file: string } | { read: () => AsyncIterable<Uint8Array> }) & {
  size: number;
  sha256: string;
};

/** What is put into a copy: bytes in memory, or a stored object. */
export type Payload = { bytes: Buffer } | StoredPayload;

/** A file of this machine to which an object is copied, and what the object must be. */
export interface FetchedFile {
  /** Missing parent folders are created. */
  file: string;
  sha256: string;
  bytes: number;
}

/** A file of a copy. */
export interface TargetFile {
  path: string;
  bytes: number;
}

/** Anything in the place of a copy. What is no regular file is a link, a pipe, or a folder without anything in it. */
export interface TargetEntry {
  /** That of a folder ends with `/`. */
  path: string;
  is: 'file' | 'folder' | 'other';
}

/**
 * A place that holds copies: a folder or a bucket. Paths are relative and use `/`. No method depends on conditional
 * writes, because not every object store has them.
 *
 * The contract, which `contractOf` gives to every kind of place:
 *
 * - **Errors.** Whatever goes wrong in the place is a CopyError that names the copy in a sentence for the owner: at the
 *   call, and also later, in a stream or a list that is being read. A stored object that cannot be read to be sent is a
 *   DamagedSourceError, and any other failure of this machine's own disk an OwnDiskError. An aborted signal gives its
 *   reason. There is nothing else.
 * - **Absence.** A file that does not exist is `undefined`, and no error. A folder or a bucket that does not exist is an
 *   error: nothing can be said of its files.
 * - **Durability.** Only after `flush`, in the order of the calls, and after `purge`.
 * - **Concurrency.** All methods may be called at once, `flush` also while files are put: it concerns those whose `put`
 *   has resolved.
 */
export interface CopyTarget {
  /** How it is called in messages. Contains no secret. */
  readonly name: string;
  /** Whether it is a folder, in which systems leave files of their own. */
  readonly isFolder: boolean;
  /** How many files should be put or read at once. */
  readonly concurrency: number;
  /**
   * Writes or replaces a file. No reader sees a part of it, also if this fails; some targets show it only after `flush`.
   *
   * @throws DamagedSourceError if a file on this disk does not have its digest; nothing was written then
   */
  put(path: string, payload: Payload, options: PutOptions): Promise<void>;
  /** Resolves when everything that was put is on stable storage under its path, in the order in which it was put. */
  flush(): Promise<void>;
  /**
   * Reads a file, or its bytes `start` to `end`, both inclusive; undefined if there is none. The caller reads the stream
   * to its end or destroys it.
   */
  read(path: string, signal?: AbortSignal, range?: Range): Promise<Readable | undefined>;
  /** Hashes a file; undefined if there is none. `onBytes` is called with the numbers of bytes read. */
  digestOf(
    path: string,
    signal?: AbortSignal,
    onBytes?: (bytes: number) => void,
  ): Promise<FoundFile | undefined>;
  /**
   * Copies an object to a file of this machine, which is not synced. Returns false if the object is missing or has another
   * digest. Leaves no file then, and none after an error.
   */
  fetch(path: string, into: FetchedFile, signal?: AbortSignal): Promise<boolean>;
  /** Lists the files below a folder such as `archive/`, in no particular order. */
  list(folder: string, signal?: AbortSignal): AsyncIterable<TargetFile>;
  /** Lists everything that is there, in no particular order. */
  entries(signal?: AbortSignal): AsyncIterable<TargetEntry>;
  /** Removes files, which may not exist. A power failure may bring them back. */
  remove(paths: readonly string[]): Promise<void>;
  /**
   * Removes files for good: when this resolves, a power failure does not bring them back, and no older version of them is
   * left that the place keeps. Returns whether all of that is known.
   */
  purge(paths: readonly string[]): Promise<boolean>;
  /** Removes the older versions of files that are there. Returns whether none is known to be left. */
  forgetVersions(paths: readonly string[]): Promise<boolean>;
  /** Ends what is being read and written: it fails. Removes what was put and not flushed, unless the place is gone. */
  close(): Promise<void>;
}

/** How a file is put: its media type, for places that keep one. */
export interface PutOptions {
  type: string;
  signal?: AbortSignal | undefined;
}

/** Bytes of a file, both ends inclusive. */
export interface Range {
  start: number;
  end: number;
}

/** What a file of a copy was found to be. */
export interface FoundFile {
  sha256: string;
  bytes: number;
}

/**
 * A kind of place as it is by itself: its errors are those of the file system or of a client. `contractOf` makes a target
 * of it. A place that can hash or fetch a file better than by reading a stream does so itself.
 */
export type RawTarget = Omit<CopyTarget, 'digestOf' | 'fetch' | 'entries'> &
  Partial<Pick<CopyTarget, 'digestOf' | 'fetch' | 'entries'>> & {
    /** Returns what to tell the owner of an error; undefined if it is not known. */
    sentenceOf(error: unknown): string | undefined;
  };

/** Why a copy could not be written, read or restored. The message is one sentence for the owner. */
export class CopyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CopyError';
  }
}

/** What a copy holds is not what a node wrote there: a file is missing or was altered. */
export class InvalidCopyError extends CopyError {}

/** A stored object on this disk is missing or damaged, so it cannot be copied. */
export class DamagedSourceError extends Error {
  readonly sha256: string;

  constructor(sha256: string, options?: ErrorOptions) {
    super(`The stored object ${sha256} is missing or damaged.`, options);
    this.name = 'DamagedSourceError';
    this.sha256 = sha256;
  }
}

/** A file of this machine could not be read or written. It says nothing about a copy. */
export class OwnDiskError extends Error {
  /** That of the file system, such as `ENOSPC`. */
  readonly code: string | undefined;

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'OwnDiskError';
    this.code = errorCode(cause);
  }
}

/** Returns Problem `copy_failed` for a CopyError, and any other error as it is. */
export function asCopyProblem(error: unknown): unknown {
  return error instanceof CopyError ? new Problem('copy_failed', error.message, { cause: error }) : error;
}

/** Returns what an error of reading a stored object means for its copy. */
function asSourceError(cause: unknown, sha256: string): Error {
  const isDamaged = cause instanceof Problem && cause.code === 'blob_damaged';
  if (isDamaged || isMissing(cause) || isUnreadable(cause)) return new DamagedSourceError(sha256, { cause });
  return cause instanceof Problem ? new CopyError(cause.message, { cause }) : new OwnDiskError(cause);
}

/**
 * Yields the bytes of a stored object and hashes them. The consumer must not publish what it wrote before the generator
 * has returned.
 *
 * @throws DamagedSourceError if it is missing, unreadable or has another digest; CopyError if it
 * is offloaded and no copy of it can be reached
 */
export async function* readVerified(payload: StoredPayload): AsyncGenerator<Uint8Array> {
  const { sha256 } = payload;
  const hash = createHash('sha256');
  try {
    const chunks = 'read' in payload ? payload.read() : fileChunks(payload.file);
    for await (const chunk of chunks as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      yield chunk;
    }
  } catch (cause) {
    throw asSourceError(cause, sha256);
  }
  if (hash.digest('hex') !== sha256) throw new DamagedSourceError(sha256);
}

/**
 * Reads a stored object into memory, which is several times as fast as a stream.
 *
 * @throws like `readVerified`
 */
export async function readWhole(payload: StoredPayload): Promise<Buffer> {
  const { sha256 } = payload;
  try {
    const bytes = await ('read' in payload ? buffer(payload.read()) : readFile(payload.file));
    if (hash('sha256', bytes, 'hex') === sha256) return bytes;
  } catch (cause) {
    throw asSourceError(cause, sha256);
  }
  throw new DamagedSourceError(sha256);
}

/** Up to this size, an object is held in memory. */
const HELD_BYTES = 4_194_304;

/** Hashes a stream. `onBytes` is called with the numbers of bytes read. */
export async function digestOfStream(
  stream: AsyncIterable<Buffer>,
  onBytes: (bytes: number) => void = () => {},
): Promise<{ sha256: string; bytes: number }> {
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const chunk of stream) {
    digest.update(chunk);
    bytes += chunk.length;
    onBytes(chunk.length);
  }
  return { sha256: digest.digest('hex'), bytes };
}

/**
 * Writes a stream to a file and hashes it. Returns false if it has another digest. Leaves no file then, and none after an
 * error.
 *
 * @throws the stream's errors; OwnDiskError
 */
export async function writeVerified(
  stream: Readable,
  { file, sha256, bytes }: FetchedFile,
): Promise<boolean> {
  const digest = createHash('sha256');
  async function* hashed() {
    for await (const chunk of upTo(bytes, stream)) {
      digest.update(chunk);
      yield chunk;
    }
  }
  let isIntact = false;
  try {
    await onOwnDisk(mkdir(dirname(file), { recursive: true, mode: 0o700 }));
    if (bytes <= HELD_BYTES) {
      const content = await buffer(hashed());
      isIntact = digest.digest('hex') === sha256;
      if (isIntact) await onOwnDisk(writeFile(file, content, { mode: 0o600 }));
    } else {
      const output = createWriteStream(file, { mode: 0o600 });
      await pipeline(Readable.from(hashed(), { objectMode: false }), output).catch((error: unknown) => {
        // Those of the stream have a type, and no code.
        throw errorCode(error) === undefined ? error : new OwnDiskError(error);
      });
      isIntact = digest.digest('hex') === sha256;
    }
    return isIntact;
  } finally {
    stream.destroy();
    if (!isIntact) await rm(file, { force: true });
  }
}

/** @throws OwnDiskError */
async function onOwnDisk<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw new OwnDiskError(error);
  }
}

/** Ends a stream soon after the number of bytes that it should have, so that a wrong one fills neither memory nor disk. */
async function* upTo(bytes: number, stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of stream) {
    yield chunk;
    read += chunk.length;
    if (read > bytes) return;
  }
}

/**
 * Reads a small file of a copy into memory; undefined if there is none.
 *
 * @throws InvalidCopyError if it is larger than `maxBytes`
 */
export async function readBytes(
  target: CopyTarget,
  path: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const stream = await target.read(path);
  if (!stream) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new InvalidCopyError(`${path} in ${target.name} is larger than any that a node writes.`);
  }
  return Buffer.concat(chunks);
}
