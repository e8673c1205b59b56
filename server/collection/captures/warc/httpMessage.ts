import { hash } from 'node:crypto';
import { TooManyBytesError } from '../../../store/blobs/blobStore.ts';
import type { StagedBlob, Staging } from '../../../store/blobs/staging.ts';

/** The status line and headers of an HTTP response, as sent. */
export interface HttpHead {
  status: number;
  /** In the order and spelling of the server. */
  headers: [string, string][];
}

/** The same limit applies to the responses that the node fetches itself. */
const MAX_HEAD_BYTES = 65_536;
const STATUS_LINE = /^HTTP\/\d(?:\.\d)? ([1-5]\d\d)(?: .*)?$/;

/** A block holds no HTTP response, or its framing is broken. */
export class MalformedHttpError extends Error {
  override name = 'MalformedHttpError';
}

/**
 * Splits a block into the head of its HTTP message (RFC 9112, section 2) and the body. A block that ends with its head,
 * such as that of a revisit, has an empty body.
 *
 * @throws MalformedHttpError; whatever the block throws.
 */
export async function splitHead(
  block: AsyncIterable<Uint8Array>,
): Promise<HttpHead & { body: AsyncIterable<Uint8Array> }> {
  const chunks = block[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  let end = -1;
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) break;
    held =
      held.length === 0
        ? Buffer.from(value.buffer, value.byteOffset, value.length)
        : Buffer.concat([held, value]);
    end = endOfHead(held);
    if (end >= 0) break;
    if (held.length > MAX_HEAD_BYTES) throw new MalformedHttpError('The head of the response has no end.');
  }
  const isWhole = end >= 0;
  if (end > MAX_HEAD_BYTES) throw new MalformedHttpError('The head of the response is too long.');
  const head = parseHead(held.toString('latin1', 0, isWhole ? end : held.length));
  return { ...head, body: isWhole ? rest(held.subarray(end), chunks) : nothing() };
}

/** Returns where the body begins: after the first empty line, with CR LF or LF line ends. */
function endOfHead(bytes: Buffer): number {
  const strict = bytes.indexOf('\r\n\r\n');
  const loose = bytes.indexOf('\n\n');
  if (strict >= 0 && (loose < 0 || strict < loose)) return strict + 4;
  return loose >= 0 ? loose + 2 : -1;
}

function parseHead(text: string): HttpHead {
  const [first = '', ...lines] = text.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  const status = STATUS_LINE.exec(first)?.[1];
  if (status === undefined) throw new MalformedHttpError('The record holds no HTTP response.');
  const headers: [string, string][] = [];
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon > 0 && !/^\s/.test(line))
      headers.push([trimBlanks(line.slice(0, colon)), trimBlanks(line.slice(colon + 1))]);
  }
  return { status: Number(status), headers };
}

/** Trims spaces and tabs. A loop, because a regular expression ending in `$` takes quadratic time on long runs of blanks. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text, start)) start += 1;
  while (end > start && isBlank(text, end - 1)) end -= 1;
  return text.slice(start, end);
}

function isBlank(text: string, at: number): boolean {
  return text[at] === ' ' || text[at] === '\t';
}

async function* rest(
  first: Uint8Array,
  chunks: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (first.length > 0) yield first;
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) return;
    yield value;
  }
}

async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {}

export function headerOf(headers: readonly [string, string][], name: string): string | undefined {
  return headers.find(([known]) => known.toLowerCase() === name)?.[1];
}

/** A complete payload; small ones are held in memory, others staged on disk. */
export interface Payload {
  sha256: string;
  bytes: number;
  content: Buffer | StagedBlob;
  /** The first bytes; a page's title is read from them. */
  beginning: Buffer;
}

/** Payloads up to this size are held in memory, so that many can be written together. */
const SMALL_BYTES = 131_072;
const BEGINNING_BYTES = 65_536;

/**
 * Reads a payload to its end.
 *
 * @throws TooManyBytesError once the payload exceeds `maxBytes`; whatever the chunks throw. No staged file remains.
 */
export async function readPayload(
  staging: Pick<Staging, 'stage'>,
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Payload> {
  const source = chunks[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await source.next();
    if (done) {
      const content = Buffer.concat(held, bytes);
      const sha256 = hash('sha256', content, 'hex');
      return { sha256, bytes, content, beginning: content.subarray(0, BEGINNING_BYTES) };
    }
    held.push(value);
    bytes += value.length;
    if (bytes > maxBytes) throw new TooManyBytesError(maxBytes);
    if (bytes > SMALL_BYTES) break;
  }
  const beginning = Buffer.concat(held, bytes).subarray(0, BEGINNING_BYTES);
  const content = await staging.stage(concat(held, source), maxBytes);
  return { sha256: content.sha256, bytes: content.bytes, content, beginning };
}

async function* concat(
  first: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield* first;
  for (;;) {
    const { done, value } = await rest.next();
    if (done) return;
    yield value;
  }
}

/** Discards a payload that is not kept. */
export async function discardPayload({ content }: Payload): Promise<void> {
  if (!Buffer.isBuffer(content)) await content.discard();
}

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
