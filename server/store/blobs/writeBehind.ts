import type { FileHandle } from 'node:fs/promises';

/** Gathered before it is written: a write of this size costs little more than one of a network's chunk. */
const BUFFER_BYTES = 524_288;
/** Most files are small: the first buffer costs nothing to speak of. */
const FIRST_BUFFER_BYTES = 32_768;

/**
 * Writes a stream to a file behind its back: while one buffer is written, what comes is gathered in the other. Chunks
 * are copied, so that whoever gives them may use their memory again. Nothing is on stable storage before `sync`
 * resolves; a failed write rejects the next call.
 */
export class WriteBehind {
  readonly #handle: FileHandle;
  #gathering: Buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
  #gathered = 0;
  /** The write that was begun last; it gives its buffer back. */
  #written: Promise<Buffer | undefined> = Promise.resolve(undefined);

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async append(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.length > 0; ) {
      const taken = rest.subarray(0, this.#gathering.length - this.#gathered);
      this.#gathering.set(taken, this.#gathered);
      this.#gathered += taken.length;
      rest = rest.subarray(taken.length);
      if (this.#gathered === this.#gathering.length) await this.#turn();
    }
  }

  /** Resolves when everything that was appended is on stable storage. */
  async sync(): Promise<void> {
    await this.#written;
    await writeAll(this.#handle, this.#gathering.subarray(0, this.#gathered));
    await this.#handle.datasync();
  }

  /** Begins to write the full buffer once the write before it is done, and goes on in the buffer of that one. */
  async #turn(): Promise<void> {
    const free = await this.#written;
    this.#written = writeAll(this.#handle, this.#gathering);
    // Whoever waits for it next hears of its failure; until then it is nobody's.
    this.#written.catch(() => {});
    this.#gathering = free?.length === BUFFER_BYTES ? free : Buffer.allocUnsafeSlow(BUFFER_BYTES);
    this.#gathered = 0;
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<Buffer> {
  for (let rest = bytes; rest.length > 0; ) {
    const { bytesWritten } = await handle.write(rest);
    rest = rest.subarray(bytesWritten);
  }
  return bytes;
}
