import type { Gunzip, InflateRaw } from 'node:zlib';

/** Size of the output buffer of a decompression stream. */
export const OUTPUT_BYTES = 65_536;

/** Decompresses one piece at a time and yields all of its output before taking the next. */
export class Inflater {
  readonly #stream: Gunzip | InflateRaw;
  #wake: () => void = () => {};
  #failure: Error | undefined;
  /** Compressed bytes written without an error. */
  consumed = 0;

  constructor(stream: Gunzip | InflateRaw) {
    this.#stream = stream;
    this.#stream.on('readable', () => this.#wake());
    this.#stream.on('end', () => this.#wake());
    this.#stream.on('error', (error) => {
      this.#failure = error;
      this.#wake();
    });
  }

  async *write(piece: Buffer): AsyncGenerator<Buffer, void, undefined> {
    let written = false;
    this.#stream.write(piece, () => {
      written = true;
      this.#wake();
    });
    yield* this.#drain(() => written || this.isEnded);
    this.consumed += piece.length;
  }

  async *end(): AsyncGenerator<Buffer, void, undefined> {
    this.#stream.end();
    yield* this.#drain(() => this.isEnded);
  }

  /** Whether the compressed data has ended. */
  get isEnded(): boolean {
    return this.#stream.readableEnded;
  }

  /** The number of bytes written after the end of the compressed data. */
  get excess(): number {
    return this.consumed - this.#stream.bytesWritten;
  }

  async *#drain(isDone: () => boolean): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      if (this.#failure) throw this.#failure;
      const chunk = this.#stream.read() as Buffer | null;
      if (chunk) yield chunk;
      else if (isDone()) return;
      else await promise;
    }
  }

  close(): void {
    this.#stream.destroy();
  }
}
