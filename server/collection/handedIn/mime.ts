/*
 * A reader for MIME messages (RFC 2045, 2046) that never holds one in memory. It is this small because it only splits: a
 * file of unknown origin must be bounded in parts, depth and heads before anything looks at what is in them. Packages
 * that read mail hold whole lines or parts in memory.
 */

/** The fields of a part, in their order. */
export type MimeFields = readonly (readonly [name: string, value: string])[];

/** A part that is not a multipart itself. */
export interface MimePart {
  fields: MimeFields;
  /** The fields of the multiparts that it is in, the outermost first. */
  within: readonly MimeFields[];
  /** The bytes as they are encoded. They must be read before the next part; what is not read is skipped. */
  content: AsyncIterable<Buffer>;
}

interface MimeLimits {
  parts: number;
  /** Multiparts in multiparts. */
  depth: number;
  /** Bytes of the fields of one part, and of all parts together. */
  headBytes: number;
  allHeadBytes: number;
}

/** A message that is a single part (RFC 2045): browsers saved pages without pictures as one. */
const SINGLE = /^(text\/html|application\/xhtml\+xml)\b/i;

/** The bytes are not a MIME message of parts, are cut off, or exceed a limit. */
export class MimeError extends Error {
  override name = 'MimeError';
}

type Token = { fields: MimeFields; within: readonly MimeFields[] } | { content: Buffer } | { end: true };

/**
 * Yields the parts of a message, those of its multiparts included, in their order.
 *
 * @param contentType of the whole, if the bytes begin with the first boundary instead of fields: the body of an HTTP request
 * @throws MimeError, whatever the chunks throw
 */
export async function* readMime(
  chunks: AsyncIterable<Buffer>,
  limits: MimeLimits,
  contentType?: string,
): AsyncGenerator<MimePart> {
  const tokens = tokensOf(chunks, limits, contentType);
  try {
    for (;;) {
      const { value: token, done } = await tokens.next();
      if (done) return;
      if (!('fields' in token)) continue;
      const content = contentOf(tokens);
      yield { ...token, content };
      for await (const _rest of content);
    }
  } finally {
    await tokens.return(undefined);
  }
}

/** Yields the content up to the end of the part. */
async function* contentOf(tokens: AsyncGenerator<Token>): AsyncGenerator<Buffer> {
  for (;;) {
    // Not `for await`, which would end the tokens with this part.
    const { value: token, done } = await tokens.next();
    if (done || !('content' in token)) return;
    yield token.content;
  }
}

async function* tokensOf(
  chunks: AsyncIterable<Buffer>,
  limits: MimeLimits,
  contentType: string | undefined,
): AsyncGenerator<Token> {
  const splitter = new Splitter(limits, contentType);
  for await (const chunk of chunks) yield* splitter.push(chunk);
  yield* splitter.end();
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** RFC 2046 allows 70; others write longer ones. */
const MAX_BOUNDARY = 200;
/** A line that may be a boundary: two hyphens, the boundary, two hyphens, and spaces that a transport added. */
const MAX_BOUNDARY_LINE = MAX_BOUNDARY + 100;
const MAX_FIELDS = 200;

interface Container {
  boundary: string;
  fields: MimeFields;
  isClosed: boolean;
}

/** Splits a message as it arrives. What it keeps between two chunks is at most a head or a line that may be a boundary. */
class Splitter {
  readonly #limits: MimeLimits;
  readonly #containers: Container[] = [];
  #state: 'head' | 'content' | 'between';
  #buffer: Buffer = Buffer.alloc(0);
  #lines: string[] = [];
  #headBytes = 0;
  #allHeadBytes = 0;
  #parts = 0;

  constructor(limits: MimeLimits, contentType: string | undefined) {
    this.#limits = limits;
    this.#state = 'head';
    if (contentType === undefined) return;
    this.#open([['Content-Type', contentType]]);
    // A boundary is at the beginning of a line; the first line has none before it.
    this.#buffer = Buffer.from('\n');
  }

  push(chunk: Buffer): Token[] {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    return this.#read(false);
  }

  end(): Token[] {
    const tokens = this.#read(true);
    const [whole] = this.#containers;
    if (!whole && this.#parts === 1) return tokens;
    if (!whole) throw new MimeError('It has no parts.');
    if (!whole.isClosed) throw new MimeError('It is cut off: its last boundary is missing.');
    return tokens;
  }

  #read(isEnd: boolean): Token[] {
    const tokens: Token[] = [];
    for (let isWaiting = false; !isWaiting; )
      isWaiting =
        this.#state === 'head' ? !this.#readHeadLine(tokens, isEnd) : !this.#readContent(tokens, isEnd);
    return tokens;
  }

  /** Reads one line of a head. Returns false if it has not arrived. */
  #readHeadLine(tokens: Token[], isEnd: boolean): boolean {
    const end = this.#buffer.indexOf(LINE_FEED);
    const bytes = end < 0 ? this.#buffer.length : end + 1;
    if (this.#headBytes + bytes > this.#limits.headBytes)
      throw new MimeError(`The fields of a part have more than ${this.#limits.headBytes} bytes.`);
    if (end < 0) {
      if (isEnd && this.#buffer.length > 0) throw new MimeError('It is cut off in the fields of a part.');
      return false;
    }
    const line = this.#buffer.toString('latin1', 0, end).replace(/\r$/, '');
    this.#headBytes += bytes;
    this.#allHeadBytes += bytes;
    if (this.#allHeadBytes > this.#limits.allHeadBytes)
      throw new MimeError(`The fields of all parts have more than ${this.#limits.allHeadBytes} bytes.`);
    // A part may end in its head. Its boundary is read with the line before it.
    const isBoundary = this.#boundaryIn(line) !== undefined;
    // Some programs put an empty line before the fields of the whole.
    if (line === '' && this.#lines.length === 0 && this.#containers.length === 0) {
      this.#buffer = this.#buffer.subarray(end + 1);
      return true;
    }
    if (line !== '' && !isBoundary) {
      this.#buffer = this.#buffer.subarray(end + 1);
      this.#lines.push(line);
      return true;
    }
    // The line end stays: a boundary may follow at once.
    this.#buffer = isBoundary ? Buffer.concat([Buffer.from('\n'), this.#buffer]) : this.#buffer.subarray(end);
    this.#endHead(tokens);
    return true;
  }

  #endHead(tokens: Token[]): void {
    const fields = fieldsOf(this.#lines);
    this.#lines = [];
    this.#headBytes = 0;
    const isSingle = this.#containers.length === 0 && SINGLE.test(fieldOf(fields, 'content-type') ?? '');
    if (!isSingle && (this.#containers.length === 0 || multipartOf(fields))) return this.#open(fields);
    this.#parts += 1;
    if (this.#parts > this.#limits.parts)
      throw new MimeError(`It has more than ${this.#limits.parts} parts.`);
    tokens.push({ fields, within: this.#containers.map((container) => container.fields) });
    this.#state = 'content';
    this.#isFirst = true;
  }

  #open(fields: MimeFields): void {
    const boundary = multipartOf(fields);
    if (!boundary) throw new MimeError('It is not a multipart with a boundary.');
    if (this.#containers.length >= this.#limits.depth)
      throw new MimeError(`Its parts are nested deeper than ${this.#limits.depth}.`);
    this.#containers.push({ boundary, fields, isClosed: false });
    this.#state = 'between';
    this.#isFirst = true;
  }

  /** Whether the buffer begins with the line end of the head, which is no content. */
  #isFirst = false;

  /** Reads content up to the next boundary. Returns false if more has to arrive. */
  #readContent(tokens: Token[], isEnd: boolean): boolean {
    const buffer = this.#buffer;
    for (let from = 0; ; ) {
      const at = buffer.indexOf('\n--', from, 'latin1');
      if (at < 0) return this.#keep(tokens, isEnd ? buffer.length : withoutStart(buffer));
      const end = buffer.indexOf(LINE_FEED, at + 1);
      const isCut = end < 0 && !isEnd;
      if (isCut && buffer.length - at <= MAX_BOUNDARY_LINE) return this.#keep(tokens, lineEndAt(buffer, at));
      const line = buffer.toString(
        'latin1',
        at + 1,
        Math.min(end < 0 ? buffer.length : end, at + MAX_BOUNDARY_LINE),
      );
      const found = this.#boundaryIn(line);
      if (!found) {
        from = at + 1;
        continue;
      }
      this.#emit(tokens, lineEndAt(buffer, at));
      this.#buffer = buffer.subarray(end < 0 ? buffer.length : found.isLast ? end : end + 1);
      this.#pass(tokens, found);
      return true;
    }
  }

  /** Emits content up to a position and keeps the rest. */
  #keep(tokens: Token[], until: number): false {
    this.#emit(tokens, until);
    this.#buffer = this.#buffer.subarray(until);
    return false;
  }

  #emit(tokens: Token[], until: number): void {
    if (until === 0) return;
    const start = this.#isFirst && this.#buffer[0] === LINE_FEED ? 1 : 0;
    this.#isFirst = false;
    if (this.#state === 'content' && until > start)
      tokens.push({ content: this.#buffer.subarray(start, until) });
  }

  #pass(tokens: Token[], { depth, isLast }: Boundary): void {
    if (this.#state === 'content') tokens.push({ end: true });
    // A boundary of an outer multipart ends those in it that were not closed.
    this.#containers.length = depth + 1;
    const container = this.#containers[depth];
    this.#isFirst = isLast;
    if (!isLast) {
      this.#state = 'head';
      return;
    }
    this.#state = 'between';
    if (container) container.isClosed = true;
    // What follows the outermost one belongs to nothing.
    if (depth > 0) this.#containers.length = depth;
  }

  #boundaryIn(line: string): Boundary | undefined {
    if (!line.startsWith('--')) return undefined;
    const text = line.slice(2).trimEnd();
    for (let depth = this.#containers.length - 1; depth >= 0; depth -= 1) {
      const container = this.#containers[depth];
      if (!container || container.isClosed) continue;
      if (text === container.boundary) return { depth, isLast: false };
      if (text === `${container.boundary}--`) return { depth, isLast: true };
    }
    return undefined;
  }
}

interface Boundary {
  depth: number;
  isLast: boolean;
}

/** The line end before a boundary belongs to it. */
function lineEndAt(buffer: Buffer, lineFeed: number): number {
  return buffer[lineFeed - 1] === CARRIAGE_RETURN ? lineFeed - 1 : lineFeed;
}

/** Returns the length of a buffer without what may be the beginning of a boundary. */
function withoutStart(buffer: Buffer): number {
  const end = buffer.subarray(-4).toString('latin1');
  for (const start of ['\r\n-', '\n-', '\r\n', '\n', '\r'])
    if (end.endsWith(start)) return buffer.length - start.length;
  return buffer.length;
}

function fieldsOf(lines: readonly string[]): MimeFields {
  const fields: [string, string][] = [];
  for (const line of lines) {
    const last = fields.at(-1);
    if (/^[ \t]/.test(line)) {
      if (last) last[1] += ` ${line.trim()}`;
      continue;
    }
    const colon = line.indexOf(':');
    if (colon < 1) continue;
    fields.push([line.slice(0, colon).trim(), line.slice(colon + 1).trim()]);
    if (fields.length > MAX_FIELDS) throw new MimeError(`A part has more than ${MAX_FIELDS} fields.`);
  }
  return fields;
}

/** Returns the first field with a name. */
export function fieldOf(fields: MimeFields, name: string): string | undefined {
  return fields.find(([known]) => known.toLowerCase() === name)?.[1];
}

/** The boundary of a multipart; undefined if the fields are those of anything else. @throws MimeError if it has none */
function multipartOf(fields: MimeFields): string | undefined {
  const type = fieldOf(fields, 'content-type');
  if (type === undefined || !/^multipart\//i.test(type)) return undefined;
  const boundary = parameterOf(type, 'boundary')?.trimEnd();
  if (boundary === undefined || boundary === '' || boundary.length > MAX_BOUNDARY)
    throw new MimeError('A multipart has no boundary that can be read.');
  return boundary;
}

/** Returns a parameter of a media type (RFC 2045, section 5.1), quoted or not. */
export function parameterOf(type: string, name: string): string | undefined {
  let rest = type.slice(type.includes(';') ? type.indexOf(';') : type.length);
  for (;;) {
    const found = /^\s*;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*))/.exec(rest);
    if (!found) return undefined;
    const [whole, known = '', quoted, plain] = found;
    if (known.toLowerCase() === name) return quoted?.replace(/\\(.)/g, '$1') ?? plain;
    rest = rest.slice(whole.length);
  }
}

/** The bytes of a part are not what its Content-Transfer-Encoding says. */
export class BrokenEncodingError extends Error {
  override name = 'BrokenEncodingError';
}

/**
 * Decodes the content of a MIME part (RFC 2045, section 6) as it arrives. Decoded bytes are never more than the encoded ones.
 *
 * @throws BrokenEncodingError if the encoding is unknown, or the bytes are not base64
 */
export function decoded(content: AsyncIterable<Buffer>, encoding: string | undefined): AsyncIterable<Buffer> {
  switch ((encoding ?? '7bit').trim().toLowerCase()) {
    case 'base64':
      return fromBase64(content);
    case 'quoted-printable':
      return fromQuotedPrintable(content);
    case '7bit':
    case '8bit':
    case 'binary':
      return content;
    default:
      throw new BrokenEncodingError('The transfer encoding is not known.');
  }
}

async function* fromBase64(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held = '';
  let isPadded = false;
  for await (const chunk of content) {
    const text = held + chunk.toString('latin1').replace(/[\s\0]+/g, '');
    const padding = text.indexOf('=');
    const digits = padding < 0 ? text : text.slice(0, padding);
    if (
      /[^A-Za-z0-9+/]/.test(digits) ||
      (isPadded && digits !== '') ||
      (padding >= 0 && !/^=+$/.test(text.slice(padding)))
    )
      throw new BrokenEncodingError('The bytes are not base64.');
    const isLast = padding >= 0;
    const whole = isLast ? digits.length : digits.length - (digits.length % 4);
    if (isLast && digits.length % 4 === 1) throw new BrokenEncodingError('The bytes are not base64.');
    held = digits.slice(whole);
    if (whole > 0) yield Buffer.from(digits.slice(0, whole), 'base64');
    isPadded ||= isLast;
  }
  if (held.length === 1) throw new BrokenEncodingError('The bytes are not base64.');
  if (held !== '') yield Buffer.from(held, 'base64');
}

/** What may be the beginning of a code, of a soft line break or of white space before a line end. */
const UNFINISHED = /(?:=[0-9A-Fa-f]?|(?:=|(?<![ \t]))[ \t]+\r?|=?\r)$/;
/** White space that is longer than this is none that a transport added. */
const MAX_HELD = 1_000;
const CODE = /=([0-9A-Fa-f]{2})|=[ \t]*\r?\n|(?<![ \t])[ \t]+(?=\r?\n)/g;

/**
 * White space at the end of a line was added on the way, also behind the sign of a soft line break. What follows an equals sign
 * and is no code stays as it is (RFC 2045, section 6.7).
 */
async function* fromQuotedPrintable(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const decode = (text: string) =>
    Buffer.from(
      text.replace(CODE, (_, code?: string) =>
        code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16)),
      ),
      'latin1',
    );
  let held = '';
  for await (const chunk of content) {
    const text = held + chunk.toString('latin1');
    const end = text.slice(-MAX_HELD);
    const unfinished = UNFINISHED.exec(end)?.[0].length ?? 0;
    held = text.slice(text.length - unfinished);
    const decoded = decode(text.slice(0, text.length - unfinished));
    if (decoded.length > 0) yield decoded;
  }
  const rest = held.replace(/=?[ \t]*$/, '');
  if (rest !== '') yield decode(rest);
}
