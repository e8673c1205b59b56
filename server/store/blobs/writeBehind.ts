import type { FileHandle } from 'node:fs/promises';

/** Gathered before it is written: a write of this size costs little more than one of a network's chunk. */
const BUFFER_BYTES = 524_288;
/** Most files are small and end within the first buffer, which costs nothing to speak of. */
export const FIRST_BUFFER_BYTES = 65_536;

/**
 * Writes a stream to a file behind its back: while one buffer is written, what comes is gathered in the other. Chunks
 * are copied, so that whoever gives them may use their memory again. The file is opened when there is more than the
 * first buffer holds; what ends within that is nowhere else, until it is synced or taken. Nothing is on stable storage
 * before `sync` resolves; a failed write rejects the next call.
 */
export class WriteBehind {
  readonly #open: () => Promise<FileHandle>;
  #handle: FileHandle | undefined;
  #gathering: Buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
  #gathered = 0;
  /** The write that was begun last; it gives its buffer back. */
  #written: Promise<Buffer | undefined> = Promise.resolve(undefined);

  constructor(open: () => Promise<FileHandle>) {
    this.#open = open;
  }

  async append(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.length > 0; ) {
      if (this.#gathered === this.#gathering.length) await this.#turn();
      const taken = rest.subarray(0, this.#gathering.length - this.#gathered);
      this.#gathering.set(taken, this.#gathered);
      this.#gathered += taken.length;
      rest = rest.subarray(taken.length);
    }
  }

  /** All that was appended, where none of it had to be written yet: a copy with memory of its own. */
  whole(): Uint8Array<ArrayBuffer> | undefined {
    return this.#handle ? undefined : new Uint8Array(this.#gathering.subarray(0, this.#gathered));
  }

  /** Resolves when everything that was appended is on stable storage. */
  async sync(): Promise<void> {
    await this.#written;
    this.#handle ??= await this.#open();
    await writeAll(this.#handle, this.#gathering.subarray(0, this.#gathered));
    await this.#handle.datasync();
  }

  /** Whether there is a file. */
  get isOpen(): boolean {
    return this.#handle !== undefined;
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }

  /** Begins to write the full buffer once the write before it is done, and goes on in the buffer of that one. */
  async #turn(): Promise<void> {
    const free = await this.#written;
    this.#handle ??= await this.#open();
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
