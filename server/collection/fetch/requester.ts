import type { LookupAddress } from 'node:dns';
import type {
  Connection,
  Redirect,
  RetrievalError,
  SentRequest,
} from '../../../shared/collection/retrieval.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import { inBackground } from '../../runtime/background.ts';
import type { Validators } from '../../store/sqlite/collection/retrievals.ts';
import { type HostRateLimiter, MAX_BACKOFF_MS } from '../schedule/hostRateLimiter.ts';
import { RetrievalFailure } from './connect.ts';
import { exchange, type HttpResponse } from './exchange.ts';
import type { ConnectionPool } from './httpConnection.ts';
import type { RobotsCache } from './robots.ts';

/** The cookies of a login, which are sent to their own site only. */
export interface LoginCookies {
  /** Called when a request is about to be sent, after it waited for its turn. */
  refresh(): void;
  /** Returns the header `Cookie` for an address; undefined if none is sent there. */
  headerFor(url: URL): string | undefined;
  /** Notes the cookies that a response sets. */
  receive(url: URL, headers: readonly (readonly [string, string])[]): void;
}

/** The parameters of one fetch. */
export interface ObjectRequest<Received> {
  url: string;
  /** The owner's headers. They are sent only to the origin of `url`. */
  headers: Record<string, string>;
  /** Headers that are no secrets: they are sent to every host on the way, and recorded as they were sent. */
  openHeaders?: Record<string, string> | undefined;
  /** The login with which it is fetched. robots.txt is fetched without it. */
  login?: LoginCookies | undefined;
  userAgent: string;
  ignoreRobots: boolean;
  timeoutMs: number;
  maxBytes: number;
  /**
   * Called just before a request is sent. Returns the validators of an object that is still stored. They are sent only
   * to the address that issued them.
   */
  validators: () => Promise<Validators | undefined>;
  /** Consumes the body as it streams in. Throws TooManyBytesError if it exceeds `maxBytes`. */
  receive: (chunks: AsyncIterable<Uint8Array>, maxBytes: number) => Promise<Received>;
  /**
   * If false, no connection to a private address is allowed. Otherwise the first host that responds decides: once a
   * public host has responded, a redirect to a private address is refused.
   */
  allowPrivateAddress?: boolean | undefined;
  signal: AbortSignal;
}

/** The result of one attempt. */
export interface Attempt<Received> {
  final_url: string;
  redirects: Redirect[];
  /** The cookies that each redirect set, as header values. They are not recorded. */
  redirectCookies: string[][];
  status: number | null;
  error: RetrievalError | null;
  content_type: string | null;
  headers: [string, string][];
  /** The request sent to `final_url`; null if it did not respond. */
  request: SentRequest | null;
  /** The connection over which `final_url` responded; null if it did not. */
  connection: Connection | null;
  /** The certificates that the connections of all requests name, by their SHA-256. */
  certificates: Map<string, Buffer>;
  /** The body; null if it is incomplete. */
  received: Received | null;
  /** The first bytes of the body. The title is read from them. */
  beginning: Buffer;
  /** The validators that were sent, if the response was 304; else null. */
  unchanged: Validators | null;
  /** Whether any host sent an HTTP response, whatever its status. */
  answered: boolean;
  /** Whether the host that responded last is at a private address; undefined if none responded. */
  isPrivate: boolean | undefined;
  /** The earliest time for the next request (Retry-After), in milliseconds since the epoch. */
  retry_at: number | null;
  /** The duration of the requests, without the time they waited in the queue. */
  duration_ms: number;
}

/** Name resolution and the rule for private addresses. */
export type Network = Pick<FetchServices, 'lookup' | 'isPrivateAddress'>;

/** How a node reaches the network. Tests on slow machines keep idle connections longer. */
export type NetworkConfig = Partial<Network> & { keepAliveMs?: number };

export interface FetchServices {
  clock: Clock;
  rateLimiter: Pick<HostRateLimiter, 'run' | 'pauseUntil'>;
  robots: RobotsCache;
  /** The pool of idle connections. Without it, each request opens a connection and closes it. */
  connections?: ConnectionPool;
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  isPrivateAddress: (address: string) => boolean;
}

type Rules = Pick<ObjectRequest<unknown>, 'userAgent' | 'timeoutMs' | 'allowPrivateAddress' | 'signal'>;
export type AttemptStats = Pick<Attempt<unknown>, 'answered' | 'isPrivate' | 'retry_at' | 'duration_ms'>;

/** After the timeout, a body that arrives more slowly than this is aborted. */
const MIN_BYTES_PER_SECOND = 50_000;

/**
 * Sends the requests of one attempt, with rate limits and a timeout for each. Refuses private addresses unless the
 * source itself is at one. Writes what concerns all requests to the attempt.
 */
export class Requester {
  readonly #services: FetchServices;
  readonly #rules: Rules;
  readonly #stats: AttemptStats;
  /** Whether the first host that responded is at a private address. Undefined until then. */
  #sourceIsPrivate: boolean | undefined;

  constructor(services: FetchServices, rules: Rules, stats: AttemptStats) {
    this.#services = services;
    this.#rules = rules;
    this.#stats = stats;
    this.#sourceIsPrivate = rules.allowPrivateAddress === false ? false : undefined;
  }

  /**
   * Sends one request when the host's rate limit allows it: a GET request, unless `sent` says otherwise.
   *
   * @param headers called when the request is about to be sent.
   * @throws RetrievalFailure; HostBackoffError; the signal's reason; whatever `receive` throws.
   */
  async get<Result>(
    url: URL,
    headers: () => Promise<Record<string, string>>,
    receive: (response: HttpResponse) => Promise<Result>,
    sent: { method?: string; body?: Uint8Array | undefined } = {},
  ): Promise<Result> {
    const { rateLimiter, clock, connections, lookup, isPrivateAddress } = this.#services;
    const { signal, timeoutMs, userAgent } = this.#rules;
    return rateLimiter.run(url.hostname, signal, async () => {
      // Before the timeout starts, because `headers` waits for this node's disk.
      const given = await headers();
      const started = clock.now();
      const deadline = new Deadline(clock, timeoutMs);
      try {
        return await exchange(
          {
            url,
            headers: requestHeaders(userAgent, given),
            ...sent,
            // A connection that is used again may be closed, and only a request that changes nothing is sent again then.
            connections: sent.method === 'POST' ? undefined : connections,
            lookup,
            mayConnect: (address) => this.#sourceIsPrivate !== false || !isPrivateAddress(address),
            signal: AbortSignal.any([signal, deadline.signal]),
          },
          (response) => {
            this.#stats.answered = true;
            this.#stats.isPrivate = isPrivateAddress(response.address);
            this.#sourceIsPrivate ??= this.#stats.isPrivate;
            this.#applyRetryAfter(url, response);
            return receive({ ...response, body: extendingDeadline(response.body, deadline) });
          },
        );
      } finally {
        deadline.settle();
        this.#stats.duration_ms += clock.now() - started;
      }
    });
  }

  #applyRetryAfter(url: URL, response: HttpResponse): void {
    if (response.status !== 429 && response.status !== 503) return;
    const now = this.#services.clock.now();
    const wanted = parseRetryAfter(response.header('retry-after'), now);
    if (wanted === undefined) return;
    const at = Math.min(wanted, now + MAX_BACKOFF_MS);
    this.#stats.retry_at = at;
    this.#services.rateLimiter.pauseUntil(url.hostname, at);
  }
}

/** Extends the deadline with each chunk, by the time the chunk takes at the minimum transfer rate. */
async function* extendingDeadline(
  chunks: AsyncIterable<Uint8Array>,
  deadline: Deadline,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    deadline.extend((chunk.length / MIN_BYTES_PER_SECOND) * 1000);
    yield chunk;
  }
}

/**
 * Returns the headers of a request, with lowercase names. The given headers override the defaults, except for
 * `accept-encoding`, because the body must arrive without content encoding.
 */
function requestHeaders(userAgent: string, given: Record<string, string>): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': userAgent, accept: '*/*' };
  for (const [name, value] of Object.entries(given)) headers[name.toLowerCase()] = value;
  return { ...headers, 'accept-encoding': 'identity' };
}

/** Returns the headers of a conditional request (RFC 9110, section 13.1). */
export function conditionalHeaders({ etag, last_modified }: Validators): Record<string, string> {
  return {
    ...(etag === null ? {} : { 'if-none-match': etag }),
    ...(last_modified === null ? {} : { 'if-modified-since': last_modified }),
  };
}

/** Replaces the values of the owner's headers by null. They may be secrets, and sent headers are published. */
export function redactOwnerHeaders(
  ownerHeaders: Record<string, string>,
  sent: readonly [string, string][],
): SentRequest['headers'] {
  const names = new Set(Object.keys(ownerHeaders).map((name) => name.toLowerCase()));
  return sent.map(([name, value]) => [name, names.has(name) ? null : value]);
}

/** Shared by all deadlines, because creating an Error for each request is expensive. */
const SETTLED = new Error('The work is over.');

/** A timeout that can be extended while the work makes progress. */
export class Deadline {
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #settled = new AbortController();
  #at: number;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#at = clock.now() + ms;
    inBackground(() => this.#watch());
  }

  /** Aborts with a `timeout` failure when the deadline passes. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  extend(ms: number): void {
    this.#at += ms;
  }

  /** Cancels the timer. Call it when the work is over. */
  settle(): void {
    this.#settled.abort(SETTLED);
  }

  async #watch(): Promise<void> {
    while (!this.#settled.signal.aborted) {
      const left = this.#at - this.#clock.now();
      if (left <= 0) return this.#abort.abort(new RetrievalFailure('timeout'));
      const before = this.#clock.now();
      await this.#clock.sleep(left, this.#settled.signal);
      // If the clock is set back, the deadline moves back with it.
      this.#at += Math.min(0, this.#clock.now() - before);
    }
  }
}

/**
 * Parses Retry-After (RFC 9110, section 10.2.3): seconds or a date. Returns milliseconds since the epoch, or undefined
 * if the value is invalid.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return now + Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : date;
}
