import { createHash, type Hash, hash } from 'node:crypto';
import { open, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobWriter } from './blobWriter.ts';
import { blobPath, temporaryFolder } from './paths.ts';
import type { PendingBlobs } from './pendingBlobs.ts';
import { FIRST_BUFFER_BYTES, WriteBehind } from './writeBehind.ts';

/**
 * How a small blob is made durable. `file`: its own file is synced. `journal`: it is appended to the journal, and its
 * own file is synced later. `either`: the journal, unless that is long already. A larger blob always has its own file
 * synced.
 */
export type WriteVia = 'file' | 'journal' | 'either';

/** Bytes that were received completely and hashed, until they are kept or discarded. */
export interface StagedBlob {
  readonly sha256: string;
  readonly bytes: number;
  /**
   * Makes the bytes durable under their digest. The caller then references the blob in a row, in a transaction. After an
   * error the bytes are gone and have to be staged again.
   */
  keep(by?: WriteVia): Promise<void>;
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

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The stream is longer than the caller's limit. */
export class TooManyBytesError extends Error {
  constructor(limit: number) {
    super(`More than ${limit} bytes were received.`);
    this.name = 'TooManyBytesError';
  }
}

/** The limit for all blobs staged in memory; beyond it, small blobs go to `tmp/` too. */
const MAX_HELD_BYTES = 128 * FIRST_BUFFER_BYTES;
/** The memory that a staged blob takes in addition to its bytes. */
const HELD_OVERHEAD_BYTES = 1_024;

/**
 * Holds blobs until it is known whether they are kept. A small blob is held in memory: refusing it takes no disk access,
 * and keeping it takes one file, written and synced in a batch with others. A larger blob is written to `tmp/` while it
 * is received, and synced at its end.
 */
export class Staging {
  readonly #folder: string;
  readonly #writer: BlobWriter;
  readonly #pending: PendingBlobs;
  #heldBytes = 0;
  #temporaryFiles = 0;

  constructor(folder: string, writer: BlobWriter, pending: PendingBlobs) {
    this.#folder = folder;
    this.#writer = writer;
    this.#pending = pending;
  }

  /** Announces a blob that will be kept soon, so that its folder can be created ahead. */
  expect(sha256: string): void {
    this.#writer.expect(blobPath(this.#folder, sha256));
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
    if (bytes.length > FIRST_BUFFER_BYTES || this.#heldBytes >= MAX_HELD_BYTES)
      return this.stage([bytes], bytes.length);
    return Promise.resolve(this.#inMemory(toTransferable(bytes), hash('sha256', bytes, 'hex')));
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
    const received = {
      file,
      bytes: 0,
      hash: createHash('sha256'),
      written: new WriteBehind(() => open(file, 'wx', 0o600)),
    };
    try {
      for await (const chunk of chunks) {
        received.bytes += chunk.length;
        if (received.bytes > maxBytes) throw new TooManyBytesError(maxBytes);
        received.hash.update(chunk);
        await received.written.append(chunk);
      }
      return await finish(received);
    } catch (error) {
      await received.written.close();
      if (received.written.isOpen) await unlink(file);
      throw error;
    }
  }

  async #inFile({ file, bytes, hash, written }: Received): Promise<StagedFile> {
    await written.sync();
    await written.close();
    const sha256 = hash.digest('hex');
    const release = () => rm(file, { force: true });
    return { file, ...this.#staged({ sha256, bytes }, () => ({ file }), release) };
  }

  #inMemory(bytes: Uint8Array<ArrayBuffer>, sha256: string): StagedBlob {
    const cost = bytes.length + HELD_OVERHEAD_BYTES;
    this.#heldBytes += cost;
    let held: Uint8Array<ArrayBuffer> | undefined = bytes;
    const release = () => {
      if (held) this.#heldBytes -= cost;
      held = undefined;
    };
    const payload = (by: WriteVia) => {
      if (!held) throw new Error('These bytes were released already.');
      const inMemory = { file: this.#temporaryFile(), bytes: held };
      return by === 'file' ? inMemory : { ...inMemory, by, sha256 };
    };
    return this.#staged({ sha256, bytes: bytes.length }, payload, release);
  }

  /** @param payload returns what is sent to the thread. `release` is called after the write, or if there is none. */
  #staged(
    { sha256, bytes }: { sha256: string; bytes: number },
    payload: (by: WriteVia) => Payload,
    release: () => void | Promise<void>,
  ): StagedBlob {
    const target = blobPath(this.#folder, sha256);
    const keep = (by: WriteVia) =>
      this.#pending.keep(sha256, async (isShared, onMarked) => {
        const write = { ...payload(by), target, isShared };
        try {
          await this.#writer.write(write, onMarked);
        } catch (error) {
          await rm(write.file, { force: true });
          throw error;
        } finally {
          await release();
        }
      });
    let kept: Promise<void> | undefined;
    let ended: Promise<void> | undefined;
    const end = async (isLeft: boolean) => {
      if (!kept) return release();
      await Promise.allSettled([kept]);
      await this.#pending.end(sha256, isLeft);
    };
    return {
      sha256,
      bytes,
      keep: (by = 'file') => (kept ??= keep(by)),
      discard: () => (ended ??= end(false)),
      leave: () => (ended ??= end(true)),
    };
  }

  #temporaryFile(): string {
    // Unique, because one process has the folder open and empties `tmp/` at its start.
    this.#temporaryFiles += 1;
    return join(temporaryFolder(this.#folder), String(this.#temporaryFiles));
  }
}

/** Returns the bytes in an ArrayBuffer of exactly their size, which can be transferred to a thread. */
function toTransferable(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  const fits = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  return fits ? new Uint8Array(buffer) : new Uint8Array(bytes);
}

/** The part of a blob write that depends on where the blob is staged. */
type Payload =
  | { file: string; bytes?: Uint8Array }
  | { file: string; bytes: Uint8Array; by: 'journal' | 'either'; sha256: string };

/** A stream while it is received. */
interface Received {
  file: string;
  bytes: number;
  hash: Hash;
  written: WriteBehind;
}
