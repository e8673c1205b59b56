import { errors } from 'undici';
import { type Connection, type ConnectionRules, type Connections, openConnection } from './connections.ts';
import { RetrievalFailure } from './failure.ts';

/** One request and its answer, with the body still to come. */
export interface Answer {
  status: number;
  /** As they came, in their order, names as the server wrote them. */
  headers: [string, string][];
  /** The first value of a header, by its lowercase name. */
  header(name: string): string | undefined;
  /** The body as it came off the wire after transfer decoding, with no content decoding. */
  body: AsyncIterable<Uint8Array>;
  /** The address that answered. */
  address: string;
  /** The headers of the request, as they were sent. */
  sent: [string, string][];
}

export interface ExchangeRequest extends ConnectionRules {
  url: URL;
  headers: Record<string, string>;
  /** Where connections are kept; undefined for one of its own. */
  connections: Connections | undefined;
}

/**
 * Makes one GET and gives the answer to `receive`, whose result it gives back. Where `connections` are kept, it is made
 * over one of them if there is one, and the connection is kept again once the whole answer was read; else the
 * connection is its own and is closed in any case.
 *
 * @throws RetrievalFailure by its word; the signal's reason; whatever `receive` throws.
 */
export async function exchange<Result>(
  request: ExchangeRequest,
  receive: (answer: Answer) => Promise<Result>,
): Promise<Result> {
  const { url, connections } = request;
  const kept = connections?.take(url.origin, request);
  if (kept) {
    const answer = await answerOver(kept, request);
    if (answer !== 'closed') return received(kept, request, answer, receive);
  }
  const connection = openConnection(url.origin, request);
  const answer = await answerOver(connection, request);
  if (answer === 'closed') throw new RetrievalFailure('connection_reset');
  return received(connection, request, answer, receive);
}

/** An answer whose body may not have been read. */
interface OpenAnswer extends Answer {
  /** Whether the whole of it came. */
  isWhole: () => boolean;
}

/**
 * Asks over a connection. One that was kept may be closed by the server in the very moment in which it is used again:
 * that is no failure, and is to be asked again over a new one (RFC 9112, section 9.3.1).
 */
async function answerOver(connection: Connection, request: ExchangeRequest): Promise<OpenAnswer | 'closed'> {
  const { url, headers, signal, connections } = request;
  try {
    const response = await connection.client.request({
      method: 'GET',
      path: url.pathname + url.search,
      headers,
      signal,
      reset: connections === undefined,
      responseHeaders: 'raw',
    });
    const pairs = pairsOf(response.headers as unknown as (string | Buffer)[]);
    // Such an answer has no body (RFC 9110, section 15.4.5), and nobody reads it.
    let isWhole = response.statusCode === 304;
    if (isWhole) response.body.resume();
    return {
      status: response.statusCode,
      headers: pairs,
      header: (name) => pairs.find(([key]) => key.toLowerCase() === name)?.[1],
      body: wholeBody(response.body, {
        brokenEnd: () => (isFramed(pairs) ? undefined : connection.broken),
        failure: (error) => failureOfBody(error, signal),
        onEnd: () => {
          isWhole = true;
        },
      }),
      isWhole: () => isWhole,
      address: connection.address,
      sent: [
        ['host', url.host],
        ['connection', connections === undefined ? 'close' : 'keep-alive'],
        ...Object.entries(headers),
      ],
    };
  } catch (error) {
    await connection.client.destroy();
    const failure = failureOfHead(error, signal);
    const isReset = failure instanceof RetrievalFailure && failure.word === 'connection_reset';
    if (connection.isUsed && isReset) return 'closed';
    throw failure;
  }
}

async function received<Result>(
  connection: Connection,
  { url, connections }: ExchangeRequest,
  answer: OpenAnswer,
  receive: (answer: Answer) => Promise<Result>,
): Promise<Result> {
  try {
    return await receive(answer);
  } finally {
    if (connections && answer.isWhole()) await connections.give(url.origin, connection);
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

/** Whether the body says itself where it ends; else its end is that of the connection. */
function isFramed(headers: readonly [string, string][]): boolean {
  return headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
}

/**
 * The body, whose every failure is told by its word: what ends before its declared end was cut short, and so was what
 * ends with a connection that broke, which the client takes for an end like any other.
 */
async function* wholeBody(
  body: AsyncIterable<Uint8Array>,
  {
    brokenEnd,
    failure,
    onEnd,
  }: { brokenEnd: () => unknown; failure: (error: unknown) => unknown; onEnd: () => void },
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await chunks.next().catch((error: unknown) => {
        throw failure(error);
      });
      if (step.done) {
        const broken = brokenEnd();
        if (broken !== undefined) throw new RetrievalFailure('body_cut_short', broken);
        onEnd();
        return;
      }
      yield step.value;
    }
  } finally {
    await chunks.return?.();
  }
}

function failureOfHead(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof RetrievalFailure) return error;
  return new RetrievalFailure(isNoHttp(error) ? 'invalid_response' : 'connection_reset', error);
}

function failureOfBody(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const endedEarly = error instanceof errors.ResponseContentLengthMismatchError || isEarlyEnd(error);
  const word = !endedEarly && isNoHttp(error) ? 'invalid_response' : 'body_cut_short';
  return new RetrievalFailure(word, error);
}

/** The parser says it of chunks that stop without the last one. */
function isEarlyEnd(error: unknown): boolean {
  return error instanceof errors.HTTPParserError && error.message.includes('Invalid EOF state');
}

/** Whether what came cannot be read as HTTP, rather than having stopped coming. */
function isNoHttp(error: unknown): boolean {
  return (
    error instanceof errors.HTTPParserError ||
    error instanceof errors.HeadersOverflowError ||
    error instanceof errors.ResponseContentLengthMismatchError ||
    (error instanceof errors.SocketError && /^bad (response|upgrade)$/.test(error.message))
  );
}
