import type { Readable } from 'node:stream';

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

/**
 * A place that holds copies: a folder or a bucket. Paths are relative and use `/`. No method depends on conditional
 * writes, because not every object store has them.
 */
export interface CopyTarget {
  /** How it is called in messages. Contains no secret. */
  readonly name: string;
  /** How many files should be put or read at once. */
  readonly concurrency: number;
  /**
   * Writes or replaces a file. No reader sees a part of it; some targets show it only after `settle`.
   *
   * @throws DamagedSourceError if a file on this disk does not have its digest; nothing was written then. CopyError
   */
  put(
    path: string,
    payload: Payload,
    options: { type: string; signal?: AbortSignal | undefined },
  ): Promise<void>;
  /** Resolves when everything that was put is on stable storage under its path, in the order in which it was put. */
  settle(): Promise<void>;
  /**
   * Reads a file, or its bytes `start` to `end`, both inclusive; undefined if there is none. The caller reads the stream
   * to its end or destroys it.
   */
  read(
    path: string,
    signal?: AbortSignal,
    range?: { start: number; end: number },
  ): Promise<Readable | undefined>;
  /** Hashes a file; undefined if there is none. `onBytes` is called with the numbers of bytes read. */
  digestOf(
    path: string,
    signal?: AbortSignal,
    onBytes?: (bytes: number) => void,
  ): Promise<{ sha256: string; bytes: number } | undefined>;
  /**
   * Copies an object to a file of this machine, which is not synced. Returns false, and leaves no file, if the object is
   * missing or has another digest.
   */
  fetch(path: string, into: FetchedFile, signal?: AbortSignal): Promise<boolean>;
  /** Lists the files below a folder such as `archive/`, in no particular order. */
  list(folder: string, signal?: AbortSignal): AsyncIterable<TargetFile>;
  /** Removes a file, which may not exist. */
  remove(path: string): Promise<void>;
  close(): void;
}

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
