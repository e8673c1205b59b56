import type { IncomingMessage, RequestOptions } from 'node:http';
import type { AgentOptions, Agent as HttpsAgent } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { z } from 'zod';
import { errorCode } from '../../shared/values/errorCode.ts';
import { after } from '../runtime/background.ts';
import { Agent, request as httpRequest } from '../runtime/nodeHttp.ts';

/** A peer did not answer, or not as a node does. The message is a sentence for the owner. */
export class PeerError extends Error {
  /** `unreachable`: no connection; `stalled`: too slow; `failing`: any other response than a node's. */
  readonly kind: 'unreachable' | 'stalled' | 'failing';
  /** The status of the response, if there was one. */
  readonly status: number | undefined;
  /** The problem document of a response that has one. */
  readonly problem: Readonly<Record<string, unknown>> | undefined;

  constructor(
    kind: PeerError['kind'],
    message: string,
    { cause, status, problem }: { cause?: unknown; status?: number; problem?: PeerError['problem'] } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PeerError';
    this.kind = kind;
    this.status = status;
    this.problem = problem;
  }
}

/** A peer shows another certificate than the pinned one. Nothing was sent to it. */
export class CertificateError extends PeerError {
  /** The SHA-256 of the certificate that it showed. */
  readonly seen: string;

  constructor(host: string, seen: string) {
    super('unreachable', `${host} presents a different certificate from the pinned one. Ask its owner.`);
    this.name = 'CertificateError';
    this.seen = seen;
  }
}

/** Where a peer is. */
export interface PeerAddress {
  /** The address of the node, as in `newPeerSchema`. */
  url: string;
  /** The SHA-256 of the certificate that it must show; null accepts the one that it shows first. */
  tls_fingerprint: string | null;
}

/** Connections to one peer at once. */
export const MAX_CONNECTIONS = 16;

/** How much one piece of work may ask of a peer. */
export interface PeerBudget {
  requests: number;
  bytes: number;
  /** Whether the time is over. */
  isOver: () => boolean;
}

/** A piece of work reached a limit. The message is a sentence for the owner; the next one goes on. */
export class PeerLimitError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PeerLimitError';
  }
}

/**
 * Reads from one peer, over a few kept connections. Every response is bounded in bytes and time, a redirect is refused,
 * and no credentials are ever sent. Private and loopback addresses are allowed, because the owner named the address.
 */
export class PeerClient {
  readonly #base: string;
  readonly #host: string;
  readonly #agent: InstanceType<typeof Agent>;
  readonly #request: typeof httpRequest;
  readonly #timer: Timer;
  readonly #signal: AbortSignal | undefined;
  /** A request waits here for its connection. Its time begins when it has one. */
  readonly #slots = new Slots(MAX_CONNECTIONS);
  #certificate: string | null;
  /** What is left of the work that is limited; no limit if undefined. */
  #budget: PeerBudget | undefined;

  constructor(
    { url, tls_fingerprint }: PeerAddress,
    { timer = systemTimer, signal }: { timer?: Timer | undefined; signal?: AbortSignal } = {},
  ) {
    const { protocol, host } = new URL(url);
    const https = protocol === 'https:' ? process.getBuiltinModule('node:https') : undefined;
    const options = { keepAlive: true, maxSockets: MAX_CONNECTIONS };
    this.#base = url.replace(/\/+$/, '');
    this.#host = host;
    this.#certificate = tls_fingerprint;
    this.#agent = https
      ? pinnedAgent({ ...options, check: (shown) => this.#checkCertificate(shown) })
      : new Agent(options);
    this.#request = https ? https.request : httpRequest;
    this.#timer = timer;
    this.#signal = signal;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Limits what is asked of the peer from now on. Beyond it, every request fails with a PeerLimitError. */
  limit(budget: PeerBudget): void {
    this.#budget = { ...budget };
  }

  /** The SHA-256 of the certificate that every connection must show; null over plain HTTP, or before the first one. */
  get certificate(): string | null {
    return this.#certificate;
  }

  #checkCertificate(shown: string): Error | undefined {
    this.#certificate ??= shown;
    return shown === this.#certificate ? undefined : new CertificateError(this.#host, shown);
  }

  /** @throws PeerError */
  async text(path: string, maxBytes: number): Promise<string> {
    return (await this.bytes(path, maxBytes)).toString();
  }

  /** Reads a response that has this form. @throws PeerError */
  async json<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    maxBytes: number,
  ): Promise<z.output<Schema>> {
    return this.#parse(path, await this.text(path, maxBytes), schema);
  }

  /** Sends JSON, and reads a response that has this form. @throws PeerError */
  async post<Schema extends z.ZodType>(
    path: string,
    body: unknown,
    schema: Schema,
    maxBytes: number,
  ): Promise<z.output<Schema>> {
    const sent = Buffer.from(JSON.stringify(body));
    return this.#parse(path, (await this.bytes(path, maxBytes, sent)).toString(), schema);
  }

  #parse<Schema extends z.ZodType>(path: string, text: string, schema: Schema): z.output<Schema> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw this.#failing('sent a response that is not JSON', cause);
    }
    const parsed = schema.safeParse(value);
    if (!parsed.success)
      throw this.#failing(`sent a response that no node sends (${pathOnly(path)})`, parsed.error);
    return parsed.data;
  }

  /** Reads a whole response, of a POST if there is a body. @throws PeerError, as soon as it has more than `maxBytes` */
  async bytes(path: string, maxBytes: number, body?: Buffer): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let received = 0;
    for await (const chunk of this.stream(path, body)) {
      received += chunk.length;
      if (received > maxBytes) throw new TooLargeError(`${this.#host} sent more than ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /**
   * Streams a response. The caller bounds its bytes; the time is bounded here. Whatever goes wrong up to the last byte is a
   * PeerError that says so to the owner.
   *
   * @throws PeerError; PeerLimitError; the signal's reason
   */
  async *stream(path: string, body?: Buffer): AsyncGenerator<Buffer> {
    const leave = await this.#slots.enter(this.#signal);
    const deadline = new ResponseDeadline(this.#timer);
    let response: IncomingMessage | undefined;
    try {
      this.#spend('requests', 1);
      response = await this.#open(path, deadline, body);
      for await (const chunk of response as AsyncIterable<Buffer>) {
        deadline.received(chunk.length);
        this.#spend('bytes', chunk.length);
        yield chunk;
      }
      if (!response.complete) throw this.#failing('ended a response early');
    } catch (error) {
      throw this.#asPeerError(error, deadline, response !== undefined);
    } finally {
      deadline.end();
      if (response && !response.complete) response.destroy();
      leave();
    }
  }

  #spend(what: 'requests' | 'bytes', count: number): void {
    const budget = this.#budget;
    if (!budget) return;
    budget[what] -= count;
    const reached =
      budget.requests < 0
        ? 'as many requests as one run sends'
        : budget.bytes < 0
          ? 'as many bytes as one run takes'
          : budget.isOver()
            ? 'as long as one run may take'
            : undefined;
    if (reached) throw new PeerLimitError(`The run ended after ${reached}. The next one goes on from there.`);
  }

  /** The peer may have closed a kept connection at this moment: then the request is sent over another one. */
  async #open(path: string, deadline: ResponseDeadline, body: Buffer | undefined): Promise<IncomingMessage> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#send(path, deadline, body);
      } catch (error) {
        if (!(error instanceof StaleConnectionError)) throw error;
        if (attempt === MAX_CONNECTIONS) throw this.#failing('closes every connection', error);
      }
    }
  }

  #send(path: string, deadline: ResponseDeadline, body: Buffer | undefined): Promise<IncomingMessage> {
    const options: RequestOptions = {
      agent: this.#agent,
      method: body ? 'POST' : 'GET',
      headers: {
        'Accept-Encoding': 'identity',
        ...(body && { 'Content-Type': 'application/json', 'Content-Length': body.length }),
      },
      ...(this.#signal ? { signal: this.#signal } : {}),
    };
    return new Promise((resolve, reject) => {
      const request = this.#request(`${this.#base}${path}`, options);
      // A request that waits for its connection reports nothing when it is destroyed.
      const abandon = () => reject(new Error('The request was cancelled.'));
      this.#signal?.addEventListener('abort', abandon, { once: true });
      request.once('close', () => this.#signal?.removeEventListener('abort', abandon));
      deadline.onEnd(() => {
        request.destroy();
        abandon();
      });
      request.once('error', (error) => {
        const isStale = request.reusedSocket && errorCode(error) === 'ECONNRESET' && !deadline.isOver;
        reject(isStale ? new StaleConnectionError('The connection was closed.', { cause: error }) : error);
      });
      request.once('response', (response) => {
        const { statusCode: status = 0 } = response;
        if (status === 200) return resolve(response);
        if (!response.headers['content-type']?.startsWith(PROBLEM_TYPE)) {
          response.destroy();
          return reject(this.#refusal(status, path));
        }
        // It says why: for one, that bytes are withheld or were given up.
        readProblem(response).then((problem) => reject(this.#refusal(status, path, problem)), reject);
      });
      request.end(body);
    });
  }

  #refusal(status: number, path: string, problem?: PeerError['problem']): PeerError {
    const message =
      status >= 300 && status < 400
        ? `${this.#host} redirects to another address. Enter the address of the node itself.`
        : status === 401 || status === 403
          ? `${this.#host} is not shared with this machine. Ask its owner to share it.`
          : `${this.#host} answered ${status} (${pathOnly(path)}).`;
    return new PeerError('failing', message, { status, problem });
  }

  #failing(what: string, cause?: unknown): PeerError {
    return new PeerError('failing', `${this.#host} ${what}.`, { cause });
  }

  /** @param hasBegun whether the error came while the body was read */
  #asPeerError(error: unknown, deadline: ResponseDeadline, hasBegun: boolean): unknown {
    if (error instanceof PeerError || error instanceof PeerLimitError) return error;
    if (deadline.isOver)
      return new PeerError('stalled', `${this.#host} is too slow to answer.`, { cause: error });
    if (this.#signal?.aborted) return this.#signal.reason;
    const code = errorCode(error);
    if (/^(HPE_|ERR_HTTP)/.test(code ?? '')) return this.#failing('sent a response that is not HTTP', error);
    if (hasBegun || code === 'ECONNRESET') return this.#failing('broke off its response', error);
    const why = code ?? (error instanceof Error ? error.message : String(error));
    return new PeerError('unreachable', `${this.#host} cannot be reached (${why}).`, { cause: error });
  }
}

/** A number of places that are taken and left in turn. */
class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves with the function that leaves the place. @throws the signal's reason */
  async enter(signal: AbortSignal | undefined): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    return () => {
      const [next] = this.#waiting;
      if (next) next();
      else this.#free += 1;
    };
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiting.delete(take);
        signal?.removeEventListener('abort', abandon);
      };
      const take = () => {
        end();
        resolve();
      };
      const abandon = () => {
        end();
        reject(signal?.reason as Error);
      };
      this.#waiting.add(take);
      signal?.addEventListener('abort', abandon, { once: true });
    });
  }
}

const PROBLEM_TYPE = 'application/problem+json';
const MAX_PROBLEM_BYTES = 65_536;

/** Reads a problem document; undefined if it is none. The deadline of the response bounds the time. */
async function readProblem(response: IncomingMessage): Promise<PeerError['problem']> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_PROBLEM_BYTES) break;
  }
  response.destroy();
  try {
    const problem: unknown = JSON.parse(Buffer.concat(chunks).toString());
    return typeof problem === 'object' && problem !== null ? { ...problem } : undefined;
  } catch {
    // Not JSON: the status says enough.
    return undefined;
  }
}

/** A response is larger than allowed. */
export class TooLargeError extends PeerError {
  constructor(message: string) {
    super('failing', message);
    this.name = 'TooLargeError';
  }
}

/** A kept connection was closed before the response began. */
class StaleConnectionError extends Error {}

function pathOnly(path: string): string {
  return path.split('?', 1)[0] ?? path;
}

/** What the connections of a pinned agent report. */
interface PinnedAgentOptions extends AgentOptions {
  /**
   * Called with the SHA-256 of the server's certificate, in lower-case hex, before anything is sent. A returned error ends
   * the connection, and the request fails with it.
   */
  check: (fingerprint: string) => Error | undefined;
}

/**
 * Returns an agent for HTTPS that trusts a server by its certificate alone. Nodes make their own certificates, so neither
 * an issuer nor a name would say anything. Sessions are not resumed, because a resumed one shows no certificate.
 */
function pinnedAgent({ check, ...options }: PinnedAgentOptions): HttpsAgent {
  const https = process.getBuiltinModule('node:https');
  const { connect } = process.getBuiltinModule('node:tls');
  const opening = new Set<TLSSocket>();
  const agent = new https.Agent({ ...options, maxCachedSessions: 0 });
  agent.createConnection = (target, callback) => {
    const socket = connect({ ...(target as object), rejectUnauthorized: false });
    const settle = (error: Error | null) => {
      if (!opening.delete(socket)) return;
      if (error) socket.destroy();
      callback?.(error, socket);
    };
    opening.add(socket);
    socket.on('error', settle);
    socket.once('close', () => settle(new Error('The connection was closed.')));
    socket.once('secureConnect', () => settle(checkCertificate(socket, check) ?? null));
    return undefined;
  };
  const destroy = agent.destroy.bind(agent);
  agent.destroy = () => {
    for (const socket of opening) socket.destroy();
    destroy();
  };
  return agent;
}

function checkCertificate(socket: TLSSocket, check: PinnedAgentOptions['check']): Error | undefined {
  const shown = socket.getPeerX509Certificate()?.fingerprint256;
  return shown === undefined
    ? new Error('The server has no certificate.')
    : check(shown.replaceAll(':', '').toLowerCase());
}

/** Calls a function after some milliseconds, unless the returned function is called before. */
export type Timer = (ms: number, over: () => void) => () => void;

const systemTimer: Timer = (ms, over) => {
  const timer = after(ms, over);
  return () => clearTimeout(timer);
};

/** How long a peer may take to begin a response, in milliseconds. */
const BEGIN_WITHIN_MS = 30_000;
/** Bytes per millisecond that keep a response alive: 10 kB per second, on average. */
const BYTES_PER_MS = 10;

/**
 * Bounds the time of one response: it must begin within 30 seconds, and from then on bring at least 10 kB per second on
 * average. So neither a peer that stalls nor one that sends a byte now and then holds a connection for long.
 */
class ResponseDeadline {
  readonly #timer: Timer;
  #waited = 0;
  #received = 0;
  #cancel: () => void;
  #onOver: () => void = () => {};
  isOver = false;

  constructor(timer: Timer) {
    this.#timer = timer;
    this.#cancel = this.#wait(BEGIN_WITHIN_MS);
  }

  /** Sets what is called when the time is over. */
  onEnd(end: () => void): void {
    this.#onOver = end;
  }

  received(bytes: number): void {
    this.#received += bytes;
  }

  end(): void {
    this.#cancel();
  }

  #wait(ms: number): () => void {
    return this.#timer(ms, () => {
      this.#waited += ms;
      const left = BEGIN_WITHIN_MS + this.#received / BYTES_PER_MS - this.#waited;
      if (left > 0) {
        this.#cancel = this.#wait(Math.ceil(left));
        return;
      }
      this.isOver = true;
      this.#onOver();
    });
  }
}

/**
 * A list in the answer of a peer, cut to `most` items if that is given. Checking ends at the first wrong item: a plain
 * array schema collects every error, and millions of wrong items would fill the memory of this node.
 */
export function listOf<Item extends z.ZodType>(item: Item, most?: number) {
  return z.array(z.unknown()).transform((given, context): z.output<Item>[] => {
    const items: z.output<Item>[] = [];
    for (const each of given.slice(0, most)) {
      const parsed = item.safeParse(each);
      if (!parsed.success) {
        context.addIssue({ code: 'custom', message: parsed.error.message });
        return z.NEVER;
      }
      items.push(parsed.data);
    }
    return items;
  });
}

/** Control characters, and those that change the direction of the text around them. */
// oxlint-disable-next-line no-control-regex -- They are what is removed.
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A stranger's text for one line of the interface. */
export function shownLine(maxCharacters: number) {
  return z.string().transform((text) => text.replace(UNPRINTABLE, ' ').slice(0, maxCharacters));
}
