import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { Client, errors } from 'undici';
import {
  type ConnectionFacts,
  type ConnectionPool,
  type ConnectionRules,
  connectionFacts,
  connector,
  KEEP_ALIVE_MS,
  type PooledConnection,
  RetrievalFailure,
} from './connect.ts';

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
  connection: ConnectionFacts | undefined;
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
    const response = await sendOver(pooled, request);
    if (response !== 'closed') return receiveOver(pooled, request, response, receive);
  }
  const connection = openConnection(url.origin, request, connections?.keepAliveMs ?? KEEP_ALIVE_MS);
  const response = await sendOver(connection, request);
  if (response === 'closed') throw new RetrievalFailure('connection_reset');
  return receiveOver(connection, request, response, receive);
}

interface PendingResponse extends HttpResponse {
  /** Whether the response was read completely. */
  isComplete: () => boolean;
}

/**
 * Sends a request over a connection. Returns `closed` if the server closed a reused connection at that moment. That is
 * no failure: the request is retried over a new connection (RFC 9112, section 9.3.1).
 */
async function sendOver(
  connection: PooledConnection,
  request: ExchangeRequest,
): Promise<PendingResponse | 'closed'> {
  const { url, headers, method, body, signal, connections } = request;
  try {
    const response = await connection.client.request({
      method: (method ?? (body ? 'POST' : 'GET')) as 'GET',
      body: body ?? null,
      path: url.pathname + url.search,
      headers,
      signal,
      reset: connections === undefined,
      responseHeaders: 'raw',
    });
    const pairs = pairsOf(response.headers as unknown as (string | Buffer)[]);
    // A 304 has no body (RFC 9110, section 15.4.5), so `receive` does not read it.
    let isComplete = response.statusCode === 304;
    if (isComplete) response.body.resume();
    return {
      status: response.statusCode,
      headers: pairs,
      header: (name) => pairs.find(([key]) => key.toLowerCase() === name)?.[1],
      body: checkedBody(response.body, {
        connectionError: () => (isFramed(pairs) ? undefined : connection.broken),
        failure: (error) => bodyFailure(error, signal),
        onEnd: () => {
          isComplete = true;
        },
      }),
      isComplete: () => isComplete,
      address: connection.address,
      connection: connection.facts,
      sent: [
        ['host', url.host],
        ['connection', connections === undefined ? 'close' : 'keep-alive'],
        ...Object.entries(headers),
      ],
    };
  } catch (error) {
    await connection.client.destroy();
    const failure = headFailure(error, signal);
    const isReset = failure instanceof RetrievalFailure && failure.reason === 'connection_reset';
    if (connection.isUsed && isReset) return 'closed';
    throw failure;
  }
}

async function receiveOver<Result>(
  connection: PooledConnection,
  { url, connections }: ExchangeRequest,
  response: PendingResponse,
  receive: (response: HttpResponse) => Promise<Result>,
): Promise<Result> {
  try {
    return await receive(response);
  } finally {
    if (connections && response.isComplete()) await connections.release(url.origin, connection);
    else await connection.client.destroy();
  }
}

function pairsOf(raw: readonly (string | Buffer)[]): [string, string][] {
  const text = (value: string | Buffer | undefined) =>
    typeof value === 'string' ? value : (value?.toString('latin1') ?? '');
  const pairs: [string, string][] = [];
  for (let index = 0; index < raw.length; index += 2) pairs.push([text(raw[index]), text(raw[index + 1])]);
  return pairs;
}

/** Whether the headers delimit the body. If they do not, the body ends when the connection is closed. */
function isFramed(headers: readonly [string, string][]): boolean {
  return headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
}

/**
 * Yields the chunks of a body and throws `failure(error)` if reading fails. A body without a length also fails if the
 * connection broke, because the client reports that as a regular end.
 */
async function* checkedBody(
  body: AsyncIterable<Uint8Array>,
  {
    connectionError,
    failure,
    onEnd,
  }: { connectionError: () => unknown; failure: (error: unknown) => unknown; onEnd: () => void },
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await chunks.next().catch((error: unknown) => {
        throw failure(error);
      });
      if (step.done) {
        const error = connectionError();
        if (error !== undefined) throw new RetrievalFailure('body_cut_short', error);
        onEnd();
        return;
      }
      yield step.value;
    }
  } finally {
    await chunks.return?.();
  }
}

function headFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof RetrievalFailure) return error;
  return new RetrievalFailure(isInvalidHttp(error) ? 'invalid_response' : 'connection_reset', error);
}

function bodyFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const endedEarly = error instanceof errors.ResponseContentLengthMismatchError || isMissingLastChunk(error);
  const reason = !endedEarly && isInvalidHttp(error) ? 'invalid_response' : 'body_cut_short';
  return new RetrievalFailure(reason, error);
}

/** The HTTP parser reports this message when a chunked body ends without its last chunk. */
function isMissingLastChunk(error: unknown): boolean {
  return error instanceof errors.HTTPParserError && error.message.includes('Invalid EOF state');
}

/** Whether the response is not valid HTTP, as opposed to a response that stopped. */
function isInvalidHttp(error: unknown): boolean {
  return (
    error instanceof errors.HTTPParserError ||
    error instanceof errors.HeadersOverflowError ||
    error instanceof errors.ResponseContentLengthMismatchError ||
    (error instanceof errors.SocketError && /^bad (response|upgrade)$/.test(error.message))
  );
}

/** The maximum size of a response's headers. */
const MAX_HEADER_BYTES = 65_536;
/** Prepares a connection to an origin. The first request opens it. It closes after `keepAliveMs` without a request. */
export function openConnection(
  origin: string,
  rules: ConnectionRules,
  keepAliveMs: number,
): PooledConnection {
  const onConnected = (socket: Socket) => {
    Object.assign(connection, { address: socket.remoteAddress ?? '', isOpen: true });
    socket.on('error', (error) => {
      // UndiciError only means that the client itself closed the connection.
      if (!(error instanceof errors.UndiciError)) connection.broken = error;
    });
  };
  const onReady = (socket: Socket, dns: string[] | null) => {
    connection.facts = connectionFacts(socket, dns);
  };
  const client = new Client(origin, {
    // Reads `connection.rules` late, so that a reconnect follows the rules of the request that causes it.
    connect: (options, callback) =>
      connector({ ...connection.rules, onConnected, onReady })(options, callback),
    maxHeaderSize: MAX_HEADER_BYTES,
    // The caller enforces timeouts, because it measures the transfer rate.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
  });
  const connection: PooledConnection = {
    client,
    rules,
    address: '',
    facts: undefined,
    broken: undefined,
    isOpen: false,
    isUsed: false,
    onClosed: () => {},
  };
  client.on('disconnect', () => {
    connection.isOpen = false;
    connection.onClosed();
  });
  return connection;
}
