import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import type { errors } from 'undici';
import { connector } from './connect.ts';
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

export interface ExchangeRequest {
  url: URL;
  headers: Record<string, string>;
  mayConnect: (address: string) => boolean;
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  signal: AbortSignal;
}

/** The largest head of an answer that is taken. */
const MAX_HEAD_BYTES = 65_536;

/**
 * Makes one GET on a connection of its own and gives the answer to `receive`, whose result it gives back; the
 * connection is closed in any case, whether or not the body was read.
 *
 * @throws RetrievalFailure by its word; the signal's reason; whatever `receive` throws.
 */
export async function exchange<Result>(
  { url, headers, mayConnect, lookup, signal }: ExchangeRequest,
  receive: (answer: Answer) => Promise<Result>,
): Promise<Result> {
  // Loaded with the first request, so that a node starts without it.
  const { Client, errors } = await import('undici');
  let address = '';
  let broken: unknown;
  const onConnected = (socket: Socket) => {
    address = socket.remoteAddress ?? '';
    socket.on('error', (error) => {
      // The client itself ends a connection by an error of its own.
      if (!(error instanceof errors.UndiciError)) broken = error;
    });
  };
  const client = new Client(url.origin, {
    connect: connector({ mayConnect, onConnected, lookup, signal }),
    maxHeaderSize: MAX_HEAD_BYTES,
    // Deadlines are kept by the caller, who knows how fast the body comes.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    const response = await client
      .request({
        method: 'GET',
        path: url.pathname + url.search,
        headers,
        signal,
        reset: true,
        responseHeaders: 'raw',
      })
      .catch((error: unknown) => {
        throw failureOfHead(error, signal, errors);
      });
    const pairs = pairsOf(response.headers as unknown as (string | Buffer)[]);
    return await receive({
      status: response.statusCode,
      headers: pairs,
      header: (name) => pairs.find(([key]) => key.toLowerCase() === name)?.[1],
      body: wholeBody(response.body, {
        brokenEnd: () => (isFramed(pairs) ? undefined : broken),
        failure: (error) => failureOfBody(error, signal, errors),
      }),
      address,
      sent: [['host', url.host], ['connection', 'close'], ...Object.entries(headers)],
    });
  } finally {
    await client.destroy();
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
  { brokenEnd, failure }: { brokenEnd: () => unknown; failure: (error: unknown) => unknown },
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
        return;
      }
      yield step.value;
    }
  } finally {
    await chunks.return?.();
  }
}

type ClientErrors = typeof errors;

function failureOfHead(error: unknown, signal: AbortSignal, known: ClientErrors): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof RetrievalFailure) return error;
  return new RetrievalFailure(isNoHttp(error, known) ? 'invalid_response' : 'connection_reset', error);
}

function failureOfBody(error: unknown, signal: AbortSignal, known: ClientErrors): unknown {
  if (signal.aborted) return signal.reason;
  const endedEarly = error instanceof known.ResponseContentLengthMismatchError || isEarlyEnd(error, known);
  const word = !endedEarly && isNoHttp(error, known) ? 'invalid_response' : 'body_cut_short';
  return new RetrievalFailure(word, error);
}

/** The parser says it of chunks that stop without the last one. */
function isEarlyEnd(error: unknown, known: ClientErrors): boolean {
  return error instanceof known.HTTPParserError && error.message.includes('Invalid EOF state');
}

/** Whether what came cannot be read as HTTP, rather than having stopped coming. */
function isNoHttp(error: unknown, known: ClientErrors): boolean {
  return (
    error instanceof known.HTTPParserError ||
    error instanceof known.HeadersOverflowError ||
    error instanceof known.ResponseContentLengthMismatchError ||
    (error instanceof known.SocketError && /^bad (response|upgrade)$/.test(error.message))
  );
}
