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
  constructor(message: string) {
    super(message);
    this.name = 'MalformedHttpError';
  }
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
