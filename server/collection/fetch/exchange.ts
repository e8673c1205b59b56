import type { Readable } from 'node:stream';
import { type ConnectionFacts, type ConnectionRules, RetrievalFailure } from './connect.ts';
import { type ConnectionPool, HttpConnection } from './httpConnection.ts';
import {
  decodeChunked,
  decodeTransfer,
  type Framing,
  framingOf,
  type HttpHead,
  headerOf,
  isDecodingError,
  MalformedHttpError,
  readHead,
} from './httpMessage.ts';

/** An HTTP response. The body has not been read yet. */
export interface HttpResponse {
  status: number;
  /** The headers in the server's order and spelling. */
  headers: [string, string][];
  /** Returns the first value of a header. `name` is in lower case. */
  header(name: string): string | undefined;
  /** The body after transfer decoding, without content decoding. */
  body: AsyncIterable<Uint8Array>;
  /** The remote IP address. */
  address: string;
  /** The connection over which it came. */
  connection: ConnectionFacts;
  /** The request headers as they were sent. */
  sent: [string, string][];
}

interface ExchangeRequest extends ConnectionRules {
  url: URL;
  headers: Record<string, string>;
  /** By default POST if there is a body, else GET. */
  method?: string | undefined;
  /** A stream needs a connection that is used once: it cannot be sent again. Its size is in the header `content-length`. */
  body?: Uint8Array | Readable | undefined;
  /** The connection pool; undefined for a connection that is used once. */
  connections: ConnectionPool | undefined;
}

/**
 * Sends one request, passes the response to `receive` and returns its result. Reuses a pooled connection if there
 * is one. The connection goes back to the pool if the response was read completely, else it is closed.
 *
 * @throws RetrievalFailure; the signal's reason; whatever `receive` throws.
 */
export async function exchange<Result>(
  request: ExchangeRequest,
  receive: (response: HttpResponse) => Promise<Result>,
): Promise<Result> {
  const { url, connections } = request;
  const pooled = connections?.acquire(url.origin, request);
  if (pooled) {
    const result = await exchangeOver(pooled, request, receive);
    if (result !== CLOSED) return result;
  }
  const connection = await HttpConnection.open(url, request);
  const result = await exchangeOver(connection, request, receive);
  if (result === CLOSED) throw new RetrievalFailure('connection_reset');
  return result;
}

/** The server closed a connection that was used before, when the next request was sent. */
const CLOSED = Symbol('closed');

/**
 * Sends a request over a connection. Returns `CLOSED` if the server closed a reused connection at that moment. That is
 * no failure: the request is retried over a new connection (RFC 9112, section 9.3.1).
 */
async function exchangeOver<Result>(
  connection: HttpConnection,
  request: ExchangeRequest,
  receive: (response: HttpResponse) => Promise<Result>,
): Promise<Result | typeof CLOSED> {
  const { signal, url, connections } = request;
  const abort = () => connection.close();
  signal.addEventListener('abort', abort, { once: true });
  let isReusable = false;
  try {
    signal.throwIfAborted();
    const head = await headOf(connection, request);
    if (head === CLOSED) return CLOSED;
    const body = new ResponseBody(connection, head, request);
    const result = await receive(responseOf(connection, head, request, body.read()));
    isReusable = body.isComplete && mayReuse(head);
    return result;
  } finally {
    signal.removeEventListener('abort', abort);
    if (isReusable) connection.isUsed = true;
    if (connections && isReusable) connections.release(url.origin, connection);
    else connection.close();
  }
}

/** Sends the request and reads the head of its response. */
async function headOf(
  connection: HttpConnection,
  request: ExchangeRequest,
): Promise<(HttpHead & { framing: Framing }) | typeof CLOSED> {
  try {
    // The server may respond, or close the connection, before it has the whole body.
    const sending = connection.send(requestHead(request), request.body).catch((error: unknown) => {
      connection.close();
      throw error;
    });
    const reading = readHead(connection.source);
    const head = await Promise.race([reading, sending.then(() => reading)]);
    // A body that cannot be sent any more is of no interest once the server has responded.
    sending.catch(() => {});
    return { ...head, framing: request.method === 'HEAD' ? NO_BODY : framingOf(head) };
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason;
    if (error instanceof MalformedHttpError) throw new RetrievalFailure('invalid_response', error);
    if (connection.isUsed) return CLOSED;
    throw new RetrievalFailure('connection_reset', error);
  }
}

const NO_BODY: Framing = { end: 'none', length: 0, codings: [] };
/** RFC 9110, sections 5.1 and 5.5. Node writes text as ISO-8859-1, so no character may be beyond it. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function requestHead({ url, method, headers, body, connections }: ExchangeRequest): string {
  const verb = method ?? (body ? 'POST' : 'GET');
  const fields = [...sentHeaders(url, headers, connections)];
  if (body instanceof Uint8Array) fields.push(['content-length', String(body.length)]);
  else if (!body && verb !== 'GET' && verb !== 'HEAD') fields.push(['content-length', '0']);
  for (const [name, value] of fields)
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value))
      throw new Error(`The request header ${name} has characters that cannot be sent.`);
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${verb} ${url.pathname}${url.search} HTTP/1.1\r\n${lines}\r\n`;
}

function sentHeaders(
  url: URL,
  headers: Record<string, string>,
  connections: ConnectionPool | undefined,
): [string, string][] {
  return [
    ['host', url.host],
    ['connection', connections === undefined ? 'close' : 'keep-alive'],
    ...Object.entries(headers),
  ];
}

function responseOf(
  { address, facts }: HttpConnection,
  { status, headers, version }: HttpHead,
  { url, headers: given, connections }: ExchangeRequest,
  body: AsyncIterable<Uint8Array>,
): HttpResponse {
  return {
    status,
    headers,
    header: (name) => headerOf(headers, name),
    body,
    address,
    connection: { ...facts, record: { ...facts.record, http: version } },
    sent: sentHeaders(url, given, connections),
  };
}

function mayReuse({ version, headers, framing }: HttpHead & { framing: Framing }): boolean {
  const isClosed = headers.some(
    ([name, value]) => name.toLowerCase() === 'connection' && /\bclose\b/i.test(value),
  );
  return framing.end !== 'close' && version === '1.1' && !isClosed;
}

/** The body of one response, after transfer decoding. */
class ResponseBody {
  readonly #connection: HttpConnection;
  readonly #framing: Framing;
  readonly #request: ExchangeRequest;
  /** Whether the response was read completely. */
  isComplete: boolean;

  constructor(connection: HttpConnection, { framing }: { framing: Framing }, request: ExchangeRequest) {
    this.#connection = connection;
    this.#framing = framing;
    this.#request = request;
    // Nobody reads the body of a 304.
    this.isComplete = framing.end === 'none';
  }

  /** @throws RetrievalFailure; the signal's reason */
  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      let bytes = this.#framed();
      for (const coding of this.#framing.codings) bytes = decodeTransfer(bytes, coding);
      yield* bytes;
    } catch (error) {
      const { signal } = this.#request;
      if (signal.aborted) throw signal.reason;
      const isInvalid = error instanceof MalformedHttpError || isDecodingError(error);
      throw new RetrievalFailure(isInvalid ? 'invalid_response' : 'body_cut_short', error);
    }
  }

  async *#framed(): AsyncGenerator<Buffer, void, undefined> {
    const { source } = this.#connection;
    const { end, length } = this.#framing;
    if (end === 'chunks') yield* decodeChunked(source);
    else if (end === 'length') yield* source.take(length);
    else if (end === 'close') yield* source.rest();
    this.isComplete = true;
  }
}
