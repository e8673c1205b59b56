import { createHash, type Hash, hash } from 'node:crypto';
import { type FileHandle, open, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { temporaryFolder } from '../files.ts';
import type { BlobWrites, TemporaryFile } from './blobWrites.ts';

/** Bytes that were received completely and hashed, until they are kept or discarded. */
export interface StagedBlob {
  readonly sha256: string;
  readonly bytes: number;
  /**
   * Makes the bytes durable under their digest. The caller then references the blob in a row, in a transaction. After an
   * error the bytes are gone and have to be staged again.
   */
  keep(): Promise<void>;
  /**
   * Releases the bytes, and deletes their file if they were kept but no row references them. Must always be called once
   * the rows are committed or refused.
   */
  discard(): Promise<void>;
  /** Like `discard`, but leaves a kept file in place for a row that is written later. */
  leave(): Promise<void>;
}

/** A staged blob in a file, which can be read before it is kept. */
export interface StagedFile extends StagedBlob {
  readonly file: string;
}

/** How many blobs are discarded in one turn of the event loop. Each asks the database, and may remove files. */
const DISCARDED_AT_ONCE = 100;

/** Discards blobs. Those that were kept stay. */
export async function discardAll(blobs: Iterable<StagedBlob>): Promise<void> {
  const left = [...blobs];
  for (;;) {
    await Promise.all(left.splice(0, DISCARDED_AT_ONCE).map((blob) => blob.discard()));
    if (left.length === 0) return;
    await yieldToEventLoop();
  }
}

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The stream is longer than the caller's limit. */
export class TooManyBytesError extends Error {
  constructor(limit: number) {
    super(`More than ${limit} bytes were received.`);
    this.name = 'TooManyBytesError';
  }
}

/** A stream of at most this many bytes stays in memory. Most files are small. */
const SMALL_BYTES = 65_536;
/** The size of a write to a file: it costs little more than writing a single chunk from the network. */
const BUFFER_BYTES = 524_288;
/** The limit for all blobs staged in memory; beyond it, small blobs go to `tmp/` too. */
const MAX_HELD_BYTES = 128 * SMALL_BYTES;
/** The memory that a staged blob takes in addition to its bytes. */
const HELD_OVERHEAD_BYTES = 1_024;

/**
 * Numbers the files in `tmp/`. Their names are unique, because one process has the folder open, and empties `tmp/` when it
 * opens it. An upload to an archive that was open before, in this process, may still rename or delete its file.
 */
let temporaryFiles = 0;

/**
 * Holds blobs until it is known whether they are kept. A small blob is held in memory: refusing it takes no disk access,
 * and keeping it takes one file. A larger blob is written to `tmp/` while it
 * is received, and synced at its end.
 */
export class Staging {
  readonly #folder: string;
  readonly #writes: BlobWrites;
  #heldBytes = 0;

  constructor(folder: string, writes: BlobWrites) {
    this.#folder = folder;
    this.#writes = writes;
  }

  /**
   * Receives and hashes a stream. Nothing is left behind after an error.
   *
   * @throws TooManyBytesError as soon as the limit is exceeded, and the stream's errors.
   */
  stage(chunks: Chunks, maxBytes: number): Promise<StagedBlob> {
    return this.#receive(chunks, maxBytes, (received) => {
      const bytes = this.#heldBytes < MAX_HELD_BYTES ? received.written.heldBytes() : undefined;
      return bytes ? this.#inMemory(bytes, received.hash.digest('hex')) : this.#inFile(received);
    });
  }

  /** Like `stage`, for bytes that are in memory already. The caller must not use the buffer afterwards. */
  stageBytes(bytes: Buffer): Promise<StagedBlob> {
    if (bytes.length > SMALL_BYTES || this.#heldBytes >= MAX_HELD_BYTES)
      return this.stage([bytes], bytes.length);
    return Promise.resolve(this.#inMemory(bytes, hash('sha256', bytes, 'hex')));
  }

  /** Like `stage`, but always in a file. */
  stageFile(chunks: Chunks, maxBytes: number): Promise<StagedFile> {
    return this.#receive(chunks, maxBytes, (received) => this.#inFile(received));
  }

  async #receive<Staged>(
    chunks: Chunks,
    maxBytes: number,
    finish: (received: Received) => Staged | Promise<Staged>,
  ): Promise<Staged> {
    const file = this.#temporaryFile();
    const received = { file, bytes: 0, hash: createHash('sha256'), written: new Spool(file) };
    try {
      for await (const chunk of chunks) {
        received.bytes += chunk.length;
        if (received.bytes > maxBytes) throw new TooManyBytesError(maxBytes);
        received.hash.update(chunk);
        await received.written.append(chunk);
      }
      return await finish(received);
    } catch (error) {
      await received.written.discard();
      throw error;
    }
  }

  async #inFile({ file, bytes, hash, written }: Received): Promise<StagedFile> {
    await written.sync();
    const sha256 = hash.digest('hex');
    const release = () => rm(file, { force: true });
    return { file, ...this.#staged({ sha256, bytes }, () => ({ file }), release) };
  }

  #inMemory(bytes: Uint8Array, sha256: string): StagedBlob {
    const cost = bytes.length + HELD_OVERHEAD_BYTES;
    this.#heldBytes += cost;
    let held: Uint8Array | undefined = bytes;
    const release = () => {
      if (held) this.#heldBytes -= cost;
      held = undefined;
    };
    const source = () => {
      if (!held) throw new Error('These bytes were released already.');
      return { file: this.#temporaryFile(), bytes: held };
    };
    return this.#staged({ sha256, bytes: bytes.length }, source, release);
  }

  /** @param release is called after the write, or if there is none. */
  #staged(
    { sha256, bytes }: { sha256: string; bytes: number },
    source: () => TemporaryFile,
    release: () => void | Promise<void>,
  ): StagedBlob {
    const keep = async () => {
      try {
        await this.#writes.keep(sha256, source());
      } finally {
        await release();
      }
    };
    let kept: Promise<void> | undefined;
    let ended: Promise<void> | undefined;
    const end = async (isLeft: boolean) => {
      if (!kept) return release();
      await Promise.allSettled([kept]);
      await this.#writes.end(sha256, isLeft);
    };
    return {
      sha256,
      bytes,
      keep: () => (kept ??= keep()),
      discard: () => (ended ??= end(false)),
      leave: () => (ended ??= end(true)),
    };
  }

  #temporaryFile(): string {
    temporaryFiles += 1;
    return join(temporaryFolder(this.#folder), String(temporaryFiles));
  }
}

/** A stream while it is received. */
interface Received {
  file: string;
  bytes: number;
  hash: Hash;
  written: Spool;
}

/**
 * Collects a stream in memory, and in a file once it is longer than that. Chunks are copied, so the caller may reuse their
 * memory. Nothing is on stable storage before `sync` resolves.
 */
class Spool {
  readonly #file: string;
  #handle: FileHandle | undefined;
  #buffer = Buffer.alloc(0);
  #filled = 0;

  constructor(file: string) {
    this.#file = file;
  }

  async append(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.length > 0; ) {
      if (this.#filled === this.#buffer.length) await this.#makeRoom(rest.length);
      const part = rest.subarray(0, this.#buffer.length - this.#filled);
      this.#buffer.set(part, this.#filled);
      this.#filled += part.length;
      rest = rest.subarray(part.length);
    }
  }

  /** Returns all bytes, or undefined if some are in the file. Nothing may be appended afterwards. */
  heldBytes(): Uint8Array | undefined {
    return this.#handle ? undefined : this.#buffer.subarray(0, this.#filled);
  }

  /** Resolves when all bytes are in the file, on stable storage. */
  async sync(): Promise<void> {
    await this.#flush();
    await this.#handle?.datasync();
    await this.#close();
  }

  /** Deletes the file if there is one. */
  async discard(): Promise<void> {
    const isInFile = this.#handle !== undefined;
    await this.#close();
    if (isInFile) await unlink(this.#file);
  }

  async #close(): Promise<void> {
    await this.#handle?.close();
  }

  /** Grows the buffer while the stream is small: to the chunk, and at least to twice its size. Then writes it. */
  async #makeRoom(bytes: number): Promise<void> {
    if (this.#filled < SMALL_BYTES) {
      const size = Math.min(SMALL_BYTES, Math.max(2 * this.#filled, this.#filled + bytes));
      const grown = Buffer.allocUnsafeSlow(size);
      grown.set(this.#buffer);
      this.#buffer = grown;
      return;
    }
    await this.#flush();
    if (this.#buffer.length < BUFFER_BYTES) this.#buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  }

  async #flush(): Promise<void> {
    this.#handle ??= await open(this.#file, 'wx', 0o600);
    await this.#handle.writeFile(this.#buffer.subarray(0, this.#filled));
    this.#filled = 0;
  }
}
