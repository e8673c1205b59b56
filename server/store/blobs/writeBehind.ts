import type { FileHandle } from 'node:fs/promises';

/** The size of a write: it costs little more than writing a single chunk from the network. */
const BUFFER_BYTES = 524_288;
/** The first buffer is smaller, because most files are small. It grows up to this size. */
export const FIRST_BUFFER_BYTES = 65_536;

/**
 * Writes a stream to a file with two buffers: while one is written, the other is filled. Chunks are copied, so the
 * caller may reuse their memory. The file is created only when the first buffer is full; a shorter stream stays in
 * memory until `sync` or `heldBytes`. Nothing is on stable storage before `sync` resolves. A failed write rejects the
 * next call.
 */
export class WriteBehind {
  readonly #open: () => Promise<FileHandle>;
  #handle: FileHandle | undefined;
  #buffer: Buffer<ArrayBuffer> = Buffer.allocUnsafeSlow(0);
  #filled = 0;
  /** The last write that was begun; resolves with its buffer, for reuse. */
  #written: Promise<Buffer<ArrayBuffer> | undefined> = Promise.resolve(undefined);

  constructor(open: () => Promise<FileHandle>) {
    this.#open = open;
  }

  async append(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.length > 0; ) {
      if (this.#filled === this.#buffer.length) {
        if (this.#filled < FIRST_BUFFER_BYTES) this.#grow(rest.length);
        else await this.#swap();
      }
      const part = rest.subarray(0, this.#buffer.length - this.#filled);
      this.#buffer.set(part, this.#filled);
      this.#filled += part.length;
      rest = rest.subarray(part.length);
    }
  }

  /**
   * Hands over all bytes, in an ArrayBuffer of exactly their size; or returns undefined if some were already written to
   * the file. Nothing may be appended or synced afterwards.
   */
  heldBytes(): Uint8Array<ArrayBuffer> | undefined {
    if (this.#handle) return undefined;
    const { buffer, length } = this.#buffer;
    return this.#filled === length
      ? new Uint8Array(buffer)
      : new Uint8Array(this.#buffer.subarray(0, this.#filled));
  }

  /** Resolves when all appended bytes are on stable storage. */
  async sync(): Promise<void> {
    await this.#written;
    this.#handle ??= await this.#open();
    await writeAll(this.#handle, this.#buffer.subarray(0, this.#filled));
    await this.#handle.datasync();
  }

  /** Whether the file was created. */
  get isOpen(): boolean {
    return this.#handle !== undefined;
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }

  /** Makes room for the chunk, and at least doubles the buffer. A stream of a single chunk is copied once. */
  #grow(bytes: number): void {
    const size = Math.min(FIRST_BUFFER_BYTES, Math.max(2 * this.#filled, this.#filled + bytes));
    const grown = Buffer.allocUnsafeSlow(size);
    grown.set(this.#buffer);
    this.#buffer = grown;
  }

  /** Begins to write the full buffer after the previous write, and continues with the buffer of that write. */
  async #swap(): Promise<void> {
    const free = await this.#written;
    this.#handle ??= await this.#open();
    this.#written = writeAll(this.#handle, this.#buffer);
    // The next call awaits it and reports its failure; until then the rejection is not unhandled.
    this.#written.catch(() => {});
    this.#buffer = free?.length === BUFFER_BYTES ? free : Buffer.allocUnsafeSlow(BUFFER_BYTES);
    this.#filled = 0;
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer<ArrayBuffer>): Promise<Buffer<ArrayBuffer>> {
  for (let rest = bytes; rest.length > 0; ) {
    const { bytesWritten } = await handle.write(rest);
    rest = rest.subarray(bytesWritten);
  }
  return bytes;
}
