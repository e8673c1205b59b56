import { MalformedHttpError } from './httpMessage.ts';

/** A chunk's size in hex, with or without extensions (RFC 9112, section 7.1). */
const SIZE_LINE = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?\r?\n$/i;
const MAX_LINE_BYTES = 4_096;
const NEWLINE = 10;

/** The body ended before its last chunk. */
export class TruncatedChunksError extends Error {
  constructor() {
    super('The body ends before its last chunk.');
    this.name = 'TruncatedChunksError';
  }
}

/**
 * Decodes a body with chunked transfer coding, buffering at most one line. Many archives keep the `Transfer-Encoding`
 * header of a body that they have already decoded, so a body that does not begin with a chunk size is passed through.
 *
 * @throws TruncatedChunksError, MalformedHttpError; whatever the body throws.
 */
export async function* decodeChunked(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const source = new StreamReader(body);
  let line = await source.line();
  if (!SIZE_LINE.test(line.toString('latin1'))) {
    if (line.length > 0) yield line;
    return yield* source.rest();
  }
  for (;;) {
    const size = SIZE_LINE.exec(line.toString('latin1'))?.[1];
    if (size === undefined) throw line.at(-1) === NEWLINE ? malformed() : new TruncatedChunksError();
    const length = Number.parseInt(size, 16);
    // Trailers follow the last chunk; they are not part of the body.
    if (length === 0) return;
    yield* source.take(length);
    const end = (await source.line()).toString('latin1');
    if (end !== '\r\n' && end !== '\n')
      throw end === '' || end === '\r' ? new TruncatedChunksError() : malformed();
    line = await source.line();
  }
}

function malformed(): MalformedHttpError {
  return new MalformedHttpError('The chunks of the body are malformed.');
}

/** Reads a stream by lines and by lengths. */
class StreamReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#chunks = body[Symbol.asyncIterator]();
  }

  /** Returns the next line with its line end, or up to `MAX_LINE_BYTES` bytes if no line end is found in them. */
  async line(): Promise<Buffer> {
    for (;;) {
      const end = this.#held.indexOf(NEWLINE);
      if (end >= 0 && end < MAX_LINE_BYTES) return this.#cut(end + 1);
      if (this.#held.length >= MAX_LINE_BYTES) return this.#cut(MAX_LINE_BYTES);
      if (!(await this.#more())) return this.#cut(this.#held.length);
    }
  }

  async *take(length: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let left = length; left > 0; ) {
      if (this.#held.length === 0 && !(await this.#more())) throw new TruncatedChunksError();
      const piece = this.#cut(Math.min(left, this.#held.length));
      left -= piece.length;
      yield piece;
    }
  }

  async *rest(): AsyncGenerator<Uint8Array, void, undefined> {
    do {
      if (this.#held.length > 0) yield this.#cut(this.#held.length);
    } while (await this.#more());
  }

  #cut(length: number): Buffer {
    const piece = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    return piece;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#held = this.#held.length === 0 ? Buffer.from(value) : Buffer.concat([this.#held, value]);
    return true;
  }
}
