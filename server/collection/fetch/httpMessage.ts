import { createGunzip, createInflate, createInflateRaw } from 'node:zlib';

/**
 * Reads HTTP/1 responses as browsers and curl read them, from a connection and from a capture alike. Servers in the field
 * break the grammar of RFC 9112 in many small ways, and what a reader sees in a browser has to reach the archive. What
 * decides where a message ends stays strict, so that no body is guessed.
 */

/** The status line and headers of an HTTP response. */
export interface HttpHead {
  /** Such as `1.1`; null if the status line has none. */
  version: string | null;
  status: number;
  /** In the order and spelling of the server, in ISO-8859-1. */
  headers: [string, string][];
}

/** The limit on a head, with the interim responses before it. */
export const MAX_HEAD_BYTES = 65_536;
/** Browsers also read a version in lower case, without its digits, or that of HTTP/2 or of a radio stream. */
const STATUS_LINE = /^(?:HTTP(?:\/(\d{1,3}(?:\.\d{1,3})?))?|ICY)[ \t]+(\d{3})(?!\d)/i;

/** The bytes are no HTTP response, or its framing is broken. */
export class MalformedHttpError extends Error {
  override name = 'MalformedHttpError';
}

/** The bytes ended before the message did. */
export class TruncatedBodyError extends Error {
  constructor(sentence = 'The body ends early.') {
    super(sentence);
    this.name = 'TruncatedBodyError';
  }
}

/**
 * Parses a head. Lines end with CR LF or LF. A line that begins with a blank continues the one before it (obs-fold, RFC
 * 9112, section 5.2), blanks around a name are left out, and a line without a colon is skipped, as browsers do.
 *
 * @throws MalformedHttpError if it does not begin with a status line
 */
export function parseHead(text: string): HttpHead {
  if (text.includes('\0')) throw new MalformedHttpError('The head of the response has a NUL.');
  const [first = '', ...lines] = text.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  const [, version, status] = STATUS_LINE.exec(first) ?? [];
  if (status === undefined) throw new MalformedHttpError('It does not begin with an HTTP status line.');
  const headers: [string, string][] = [];
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = trimBlanks(line.slice(0, Math.max(0, colon)));
    if (name !== '') headers.push([name, trimBlanks(line.slice(colon + 1))]);
  }
  return { version: version ?? null, status: Number(status), headers };
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
  return text[at] === ' ' || text[at] === '\t' || text[at] === '\r';
}

/** Returns where the body begins: after the first empty line, with CR LF or LF line ends; -1 if there is none yet. */
export function endOfHead(bytes: Buffer): number {
  const found = [
    ['\r\n\r\n', 4],
    ['\n\n', 2],
    ['\n\r\n', 3],
  ] as const;
  const ends = found.map(([end, length]) => ({ at: bytes.indexOf(end), length })).filter(({ at }) => at >= 0);
  return ends.length === 0 ? -1 : Math.min(...ends.map(({ at, length }) => at + length));
}

/** Returns the size of a file that a response with status 206 has whole (RFC 9110, section 14.4); undefined for a part of it. */
export function wholeRange(contentRange: string | undefined): number | undefined {
  const [, last, size] = /^\s*bytes\s+0-(\d{1,15})\/(\d{1,15})\s*$/i.exec(contentRange ?? '') ?? [];
  return size !== undefined && Number(last) + 1 === Number(size) ? Number(size) : undefined;
}

/** A status outside 100 to 599 is one of 5xx (RFC 9110, section 15). */
export function isErrorStatus(status: number): boolean {
  return status >= 400 || status < 100;
}

/** Returns the first value of a header. `name` is in lower case. */
export function headerOf(headers: readonly [string, string][], name: string): string | undefined {
  return headers.find(([known]) => known.toLowerCase() === name)?.[1];
}

/**
 * Reads the head of a response from a connection. Empty lines before it are skipped, and so are interim responses, which a
 * client must be able to read although it asked for none (RFC 9110, section 15.2).
 *
 * @throws MalformedHttpError; TruncatedBodyError if the bytes end before the head does; whatever the source throws.
 */
export async function readHead(source: ByteSource): Promise<HttpHead> {
  let text = '';
  for (let read = 0; ; ) {
    const line = (await source.line(MAX_HEAD_BYTES - read)).toString('latin1');
    read += line.length;
    const isEmpty = /^\r?\n$/.test(line);
    if (!isEmpty || text !== '') text += line;
    if (!line.endsWith('\n') || read >= MAX_HEAD_BYTES) {
      if (text !== '') parseHead(text);
      if (read >= MAX_HEAD_BYTES) throw new MalformedHttpError('The head of the response is too long.');
      throw new TruncatedBodyError('The head of the response has no end.');
    }
    // Another protocol may wait for an answer.
    if (text === line && !isEmpty) parseHead(line);
    if (!isEmpty || text === '') continue;
    const head = parseHead(text);
    if (head.status === 101) throw new MalformedHttpError('The server switched to another protocol.');
    if (head.status < 100 || head.status >= 200) return head;
    text = '';
  }
}

/** How a body ends, and the codings that are removed from it, the last one first. */
export interface Framing {
  end: 'none' | 'chunks' | 'length' | 'close';
  /** Of `length`, the number of bytes. */
  length: number;
  codings: TransferCoding[];
}

export type TransferCoding = 'gzip' | 'deflate';

/**
 * Returns how the body of a response to a GET or POST is framed (RFC 9112, section 6.3). `chunked` overrides
 * `Content-Length`; equal lengths count once (RFC 9110, section 8.6); `identity` and codings that nobody knows are
 * ignored, and so is `chunked` of HTTP/1.0, as in browsers.
 *
 * @throws MalformedHttpError if the lengths differ
 */
export function framingOf({ version, status, headers }: HttpHead): Framing {
  if ((status >= 100 && status < 200) || status === 204 || status === 304)
    return { end: 'none', length: 0, codings: [] };
  const named = transferCodingsOf(headers);
  const codings = named
    .map((coding) => KNOWN_CODINGS.get(coding))
    .filter((coding) => coding !== undefined)
    .reverse();
  const isOld = version === null || Number.parseFloat(version) < 1.1;
  if (named.includes('chunked') && !isOld) return { end: 'chunks', length: 0, codings };
  if (codings.length > 0) return { end: 'close', length: 0, codings };
  const length = contentLengthOf(headers);
  return length === undefined ? { end: 'close', length: 0, codings } : { end: 'length', length, codings };
}

const KNOWN_CODINGS: ReadonlyMap<string, TransferCoding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/** Returns the transfer codings of a message in lower case, without parameters, in the order in which they were applied. */
export function transferCodingsOf(headers: readonly [string, string][]): string[] {
  return headers
    .filter(([name]) => name.toLowerCase() === 'transfer-encoding')
    .flatMap(([, value]) => value.split(','))
    .map((coding) => trimBlanks(coding.split(';', 1)[0] ?? '').toLowerCase())
    .filter((coding) => coding !== '');
}

/** @throws MalformedHttpError if there are different lengths, or one that is no number */
function contentLengthOf(headers: readonly [string, string][]): number | undefined {
  const stated = headers
    .filter(([name]) => name.toLowerCase() === 'content-length')
    .flatMap(([, value]) => value.split(','))
    .map(trimBlanks);
  if (stated.some((value) => !/^\d{1,15}$/.test(value)) || new Set(stated.map(Number)).size > 1)
    throw new MalformedHttpError('The response does not state one length.');
  return stated.length === 0 ? undefined : Number(stated[0]);
}

/** A chunk's size in hex, with or without extensions (RFC 9112, section 7.1). Some servers pad it with blanks. */
const SIZE_LINE = /^[ \t]*([0-9a-f]{1,12})[ \t]*(?:;.*)?\r?\n$/i;
const MAX_LINE_BYTES = 4_096;
const NEWLINE = 10;

/**
 * Decodes a body with chunked transfer coding, buffering at most one line. The source stands behind the trailers
 * afterwards (RFC 9112, section 7.1.2), which are not part of the body.
 *
 * @throws TruncatedBodyError, MalformedHttpError; whatever the source throws.
 */
export async function* decodeChunked(
  source: ByteSource,
  progress: ChunkProgress = { sizes: 0, chunks: 0 },
): AsyncGenerator<Buffer, void, undefined> {
  for (;;) {
    const line = await source.line(MAX_LINE_BYTES);
    const size = SIZE_LINE.exec(line.toString('latin1'))?.[1];
    if (size === undefined) throw line.at(-1) === NEWLINE ? malformed() : new TruncatedBodyError();
    progress.sizes += 1;
    const length = Number.parseInt(size, 16);
    if (length === 0) return skipTrailers(source);
    yield* source.take(length);
    const end = (await source.line(MAX_LINE_BYTES)).toString('latin1');
    if (end !== '\r\n' && end !== '\n')
      throw end === '' || end === '\r' ? new TruncatedBodyError() : malformed();
    progress.chunks += 1;
  }
}

/** How much of a body was read as chunks: the lines with a size, and the chunks that ended as they must. */
export interface ChunkProgress {
  sizes: number;
  chunks: number;
}

/** Some servers close the connection right after the last chunk: the body is complete. */
async function skipTrailers(source: ByteSource): Promise<void> {
  for (let bytes = 0; bytes <= MAX_HEAD_BYTES; ) {
    const line = (await source.line(MAX_LINE_BYTES)).toString('latin1');
    if (/^\r?\n?$/.test(line)) return;
    if (!line.includes(':')) throw malformed();
    bytes += line.length;
  }
  throw malformed();
}

function malformed(): MalformedHttpError {
  return new MalformedHttpError('The chunks of the body are malformed.');
}

/** Whether a transfer coding could not be removed: the bytes are damaged. */
export function isDecodingError(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && 'code' in error && String(error.code).startsWith('Z_');
}

/** Removes a transfer coding from a body. One without the signature of its coding is taken as it is. */
export async function* decodeTransfer(
  bytes: AsyncGenerator<Buffer, void, undefined>,
  coding: TransferCoding,
): AsyncGenerator<Buffer, void, undefined> {
  const first = await bytes.next();
  if (first.done) return;
  const [one = 0, two = 0] = first.value;
  const isZlib = (one & 0x0f) === 8 && ((one << 8) | two) % 31 === 0;
  if (coding === 'gzip' && one !== 0x1f) {
    yield first.value;
    return yield* bytes;
  }
  const decoder = coding === 'gzip' ? createGunzip() : isZlib ? createInflate() : createInflateRaw();
  const feed = async () => {
    for (let piece: IteratorResult<Buffer, void> = first; !piece.done; piece = await bytes.next())
      if (!decoder.write(piece.value)) await new Promise((resolve) => decoder.once('drain', resolve));
    decoder.end();
  };
  feed().catch((error: unknown) => decoder.destroy(error as Error));
  yield* decoder as AsyncIterable<Buffer>;
}

/** Reads a stream by lines and by lengths. */
export class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);
  /** The number of bytes that were read. */
  offset = 0;

  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** Whether bytes were received that were not read yet. */
  get hasMore(): boolean {
    return this.#held.length > 0;
  }

  /** Returns the next line with its line end, or what there is of it if the stream ends, or it is too long. */
  async line(maxBytes: number): Promise<Buffer> {
    for (let searched = 0; ; ) {
      const end = this.#held.indexOf(NEWLINE, searched);
      if (end >= 0 && end < maxBytes) return this.#cut(end + 1);
      if (this.#held.length >= maxBytes) return this.#cut(maxBytes);
      searched = this.#held.length;
      if (!(await this.#more())) return this.#cut(this.#held.length);
    }
  }

  /** Yields exactly as many bytes. @throws TruncatedBodyError if the stream ends before */
  async *take(length: number): AsyncGenerator<Buffer, void, undefined> {
    for (let left = length; left > 0; ) {
      if (this.#held.length === 0 && !(await this.#more())) throw new TruncatedBodyError();
      const piece = this.#cut(Math.min(left, this.#held.length));
      left -= piece.length;
      yield piece;
    }
  }

  /** Yields all bytes to the end of the stream. */
  async *rest(): AsyncGenerator<Buffer, void, undefined> {
    do {
      if (this.#held.length > 0) yield this.#cut(this.#held.length);
    } while (await this.#more());
  }

  #cut(length: number): Buffer {
    const piece = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    this.offset += piece.length;
    return piece;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    const chunk = Buffer.from(value.buffer, value.byteOffset, value.length);
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    return true;
  }
}
