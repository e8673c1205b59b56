import { createHash, type Hash, hash } from 'node:crypto';
import { open, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobWriter } from './blobWriter.ts';
import { blobPath, temporaryFolder } from './paths.ts';
import type { UnderWay } from './pendingBlobs.ts';
import { FIRST_BUFFER_BYTES, WriteBehind } from './writeBehind.ts';

/**
 * How small bytes are put on stable storage: in their own file before anything else, or in the journal together with
 * others, and in their own file later; or whichever is less work, which is the file where the journal is long already.
 * Bytes that are not small have their own file in any case.
 */
export type WriteVia = 'file' | 'journal' | 'either';

/** Bytes that came whole and were hashed, until they are kept or discarded. */
export interface StagedBlob {
  readonly sha256: string;
  readonly bytes: number;
  /**
   * Puts the bytes on stable storage under their name. The caller then names the blob in a row, in a transaction. What
   * could not be kept is gone and has to be staged again.
   */
  keep(by?: WriteVia): Promise<void>;
  /**
   * Always called in the end, when the rows are committed or will not be: lets the bytes go, and where they were kept
   * and no row names them, their file too.
   */
  discard(): Promise<void>;
  /** Instead of `discard`: what was kept stays, although its row comes only later. */
  leave(): Promise<void>;
}

/** Staged bytes that can be read before they are kept. */
export interface StagedFile extends StagedBlob {
  readonly file: string;
}

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** More bytes came than the caller takes. */
export class TooManyBytesError extends Error {
  constructor(limit: number) {
    super(`More than ${limit} bytes came.`);
    this.name = 'TooManyBytesError';
  }
}

/** As much is held in memory of all small blobs that are staged at one time; what comes beyond that goes to `tmp/`. */
const MOST_HELD_BYTES = 128 * FIRST_BUFFER_BYTES;
/** What a blob in memory costs beside its bytes. */
const HELD_OVERHEAD_BYTES = 1_024;

/**
 * Where bytes wait until it is known whether they are kept. A small blob waits in memory: to refuse it costs the disk
 * nothing, and to keep it costs one file, written and synced with those of others. Any other is written to `tmp/` while
 * it comes, and is synced when it is whole.
 */
export class Staging {
  readonly #folder: string;
  readonly #keeper: BlobWriter;
  readonly #underWay: UnderWay;
  #heldBytes = 0;
  #named = 0;

  constructor(folder: string, keeper: BlobWriter, underWay: UnderWay) {
    this.#folder = folder;
    this.#keeper = keeper;
    this.#underWay = underWay;
  }

  /** @throws TooManyBytesError as soon as the limit is passed; whatever the stream throws. Nothing is left then. */
  take(chunks: Chunks, maxBytes: number): Promise<StagedBlob> {
    return this.#receive(chunks, maxBytes, (received) => {
      const bytes = this.#heldBytes < MOST_HELD_BYTES ? received.written.whole() : undefined;
      return bytes ? this.#inMemory(bytes, received.hash.digest('hex')) : this.#inFile(received);
    });
  }

  /** As `take`, for bytes that came whole: where they are few, they are not copied. */
  takeWhole(bytes: Buffer): Promise<StagedBlob> {
    if (bytes.length > FIRST_BUFFER_BYTES || this.#heldBytes >= MOST_HELD_BYTES)
      return this.take([bytes], bytes.length);
    return Promise.resolve(this.#inMemory(withOwnMemory(bytes), hash('sha256', bytes, 'hex')));
  }

  /** As `take`, in a file whatever the size. */
  takeToFile(chunks: Chunks, maxBytes: number): Promise<StagedFile> {
    return this.#receive(chunks, maxBytes, (received) => this.#inFile(received));
  }

  async #receive<Staged>(
    chunks: Chunks,
    maxBytes: number,
    settle: (received: Received) => Staged | Promise<Staged>,
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
      return await settle(received);
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
    const letGo = () => rm(file, { force: true });
    return { file, ...this.#staged({ sha256, bytes }, () => ({ file }), letGo) };
  }

  #inMemory(bytes: Uint8Array<ArrayBuffer>, sha256: string): StagedBlob {
    const cost = bytes.length + HELD_OVERHEAD_BYTES;
    this.#heldBytes += cost;
    let held: Uint8Array<ArrayBuffer> | undefined = bytes;
    const letGo = () => {
      if (held) this.#heldBytes -= cost;
      held = undefined;
    };
    const take = (by: WriteVia) => {
      if (!held) throw new Error('These bytes were let go already.');
      const keeping = { file: this.#temporaryFile(), bytes: held };
      return by === 'file' ? keeping : { ...keeping, by, sha256 };
    };
    return this.#staged({ sha256, bytes: bytes.length }, take, letGo);
  }

  /** @param take gives what is handed to the thread, once; `letGo` is called after that, or instead of it. */
  #staged(
    { sha256, bytes }: { sha256: string; bytes: number },
    take: (by: WriteVia) => Given,
    letGo: () => void | Promise<void>,
  ): StagedBlob {
    const target = blobPath(this.#folder, sha256);
    const keep = (by: WriteVia) =>
      this.#underWay.keep(sha256, async (isShared, tell) => {
        const keeping = { ...take(by), target, isShared };
        try {
          await this.#keeper.keep(keeping, tell);
        } catch (error) {
          await rm(keeping.file, { force: true });
          throw error;
        } finally {
          await letGo();
        }
      });
    let kept: Promise<void> | undefined;
    let ended: Promise<void> | undefined;
    const end = async (isLeft: boolean) => {
      if (!kept) return letGo();
      await Promise.allSettled([kept]);
      await this.#underWay.end(sha256, isLeft);
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
    // One process has the folder open, and begins with an empty `tmp/`.
    this.#named += 1;
    return join(temporaryFolder(this.#folder), String(this.#named));
  }
}

/** Memory that holds these bytes and nothing else, so that it can be given to a thread. */
function withOwnMemory(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  return isOwn ? new Uint8Array(buffer) : new Uint8Array(bytes);
}

/** What the thread is given of a blob. */
type Given =
  | { file: string; bytes?: Uint8Array }
  | { file: string; bytes: Uint8Array; by: 'journal' | 'either'; sha256: string };

/** A stream that came whole. */
interface Received {
  file: string;
  bytes: number;
  hash: Hash;
  written: WriteBehind;
}
