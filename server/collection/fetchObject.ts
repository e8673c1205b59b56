import type { LookupAddress } from 'node:dns';
import type { Clock } from '../../shared/clock.ts';
import type { RetrievalError } from '../../shared/source.ts';
import { TooManyBytesError } from '../store/blobs/blobStore.ts';
import type { Validators } from '../store/sqlite/validators.ts';
import { Deadline } from './deadline.ts';
import { type Answer, exchange } from './exchange.ts';
import { RetrievalFailure } from './failure.ts';
import type { Politeness } from './politeness.ts';
import { MAX_ROBOTS_BYTES, type Robots, type RobotsAnswer, RobotsUnreachable } from './robots.ts';

/** What is asked for, and how. */
export interface ObjectRequest<Received> {
  url: string;
  /** The owner's own headers; sent to the source's own origin only. */
  headers: Record<string, string>;
  userAgent: string;
  ignoreRobots: boolean;
  timeoutMs: number;
  maxBytes: number;
  /** Gives the validators of an object that is still held; they are sent to the address that gave them. */
  validators: () => Promise<Validators | undefined>;
  /** Takes the body as it streams in; refuses what is too large with TooManyBytesError. */
  receive: (chunks: AsyncIterable<Uint8Array>, maxBytes: number) => Promise<Received>;
  signal: AbortSignal;
}

/** What one attempt came to. */
export interface Attempt<Received> {
  final_url: string;
  redirects: { url: string; status: number }[];
  status: number | null;
  error: RetrievalError | null;
  content_type: string | null;
  headers: [string, string][];
  /** The body, where the whole of it came. */
  received: Received | null;
  /** The first bytes of the body, to look for a title in. */
  beginning: Buffer;
  /** The validators asked by, where the answer was that nothing changed. */
  unchanged: Validators | null;
  /** Whether any host answered in HTTP, whatever it answered. */
  answered: boolean;
  /** When the host wants to be asked again (Retry-After). */
  retry_at: number | null;
  /** How long the requests themselves took, without the waiting for their turn. */
  duration_ms: number;
}

export interface FetchServices {
  clock: Clock;
  politeness: Politeness;
  robots: Robots;
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  isPrivateAddress: (address: string) => boolean;
}

const MAX_REDIRECTS = 10;
/** RFC 9309, section 2.3.1.2: at least five are followed. */
const MAX_ROBOTS_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const BEGINNING_BYTES = 65_536;
/** A body that comes more slowly than this, once the time-out is used up, is given up. */
const LEAST_BYTES_PER_SECOND = 50_000;

/**
 * Asks for an object once: follows redirects by hand, keeps to robots.txt and to what is polite, and streams the body
 * to `receive` exactly as it came. Every failure of the web is in the result, by its word.
 *
 * @throws HostHeldError where the host is to be left alone; the signal's reason; what `receive` throws of its own.
 */
export async function fetchObject<Received>(
  services: FetchServices,
  request: ObjectRequest<Received>,
): Promise<Attempt<Received>> {
  return new Fetch(services, request).run();
}

class Fetch<Received> {
  readonly #services: FetchServices;
  readonly #request: ObjectRequest<Received>;
  readonly #attempt: Attempt<Received>;
  /** Whether the source itself was met at a private address; undefined until it answered. */
  #sourceIsPrivate: boolean | undefined;

  constructor(services: FetchServices, request: ObjectRequest<Received>) {
    this.#services = services;
    this.#request = request;
    this.#attempt = {
      final_url: request.url,
      redirects: [],
      status: null,
      error: null,
      content_type: null,
      headers: [],
      received: null,
      beginning: Buffer.alloc(0),
      unchanged: null,
      answered: false,
      retry_at: null,
      duration_ms: 0,
    };
  }

  async run(): Promise<Attempt<Received>> {
    try {
      await this.#follow();
    } catch (error) {
      if (error instanceof RobotsUnreachable) {
        this.#attempt.final_url = error.url;
        this.#attempt.status = error.status;
        this.#attempt.answered ||= error.status !== null;
      } else if (!(error instanceof RetrievalFailure)) throw error;
      this.#attempt.error = error.word;
    }
    return this.#attempt;
  }

  async #follow(): Promise<void> {
    const seen = new Set<string>();
    for (let url: URL | undefined = new URL(this.#request.url); url; ) {
      if (seen.has(url.href)) throw new RetrievalFailure('redirect_loop');
      if (seen.size > MAX_REDIRECTS) throw new RetrievalFailure('too_many_redirects');
      seen.add(url.href);
      this.#attempt.final_url = url.href;
      await this.#checkRobots(url);
      url = await this.#ask(url);
    }
  }

  async #checkRobots(url: URL): Promise<void> {
    const { ignoreRobots, userAgent } = this.#request;
    if (ignoreRobots) return;
    const agent = /^[^/\s]+/.exec(userAgent)?.[0] ?? '';
    const allowed = await this.#services.robots.isAllowed(url, agent, (robots) => this.#askRobots(robots));
    if (!allowed) throw new RetrievalFailure('robots_disallowed');
  }

  async #askRobots(robots: URL): Promise<RobotsAnswer> {
    let url = robots;
    for (let hops = 0; hops <= MAX_ROBOTS_REDIRECTS; hops += 1) {
      const { status, text, location } = await this.#exchange(
        url,
        async () => ({}),
        async (answer) => ({
          status: answer.status,
          location: REDIRECTS.has(answer.status) ? answer.header('location') : undefined,
          text: answer.status < 300 ? await beginningOf(answer.body, MAX_ROBOTS_BYTES) : '',
        }),
      );
      if (location === undefined) return { status, text };
      const next = URL.parse(location, url.href);
      if (next === null || !isWeb(next)) return { status, text };
      url = next;
    }
    return { status: 404, text: '' };
  }

  /** Asks for one address; gives back the address that it redirects to. */
  async #ask(url: URL): Promise<URL | undefined> {
    const attempt = this.#attempt;
    Object.assign(attempt, { status: null, headers: [], content_type: null });
    let validators: Validators | undefined;
    const headers = async () => {
      const known = await this.#request.validators();
      if (known?.url === url.href) validators = known;
      return { ...this.#ownHeaders(url), ...(validators === undefined ? {} : conditionsOf(validators)) };
    };
    return this.#exchange(url, headers, async (answer) => {
      attempt.status = answer.status;
      attempt.headers = answer.headers;
      attempt.content_type = answer.header('content-type') ?? null;
      if (REDIRECTS.has(answer.status)) return this.#redirectOf(url, answer);
      if (answer.status === 304) {
        if (validators === undefined) throw new RetrievalFailure('invalid_response');
        attempt.unchanged = validators;
        return undefined;
      }
      await this.#receive(answer);
      return undefined;
    });
  }

  #ownHeaders(url: URL): Record<string, string> {
    return url.origin === new URL(this.#request.url).origin ? this.#request.headers : {};
  }

  #redirectOf(from: URL, answer: Answer): URL {
    const location = answer.header('location');
    const to = location === undefined ? null : URL.parse(location, from.href);
    if (to === null) throw new RetrievalFailure('invalid_response');
    if (!isWeb(to)) throw new RetrievalFailure('redirect_refused');
    this.#attempt.redirects.push({ url: from.href, status: answer.status });
    to.hash = '';
    to.username = '';
    to.password = '';
    return to;
  }

  /** Takes the body of a final answer. That of an error is taken too: it is archived, but is no observation. */
  async #receive(answer: Answer): Promise<void> {
    const { maxBytes, receive } = this.#request;
    const ok = answer.status >= 200 && answer.status < 300 && answer.status !== 206;
    try {
      if (Number(answer.header('content-length') ?? 0) > maxBytes) throw new TooManyBytesError(maxBytes);
      this.#attempt.received = await receive(this.#keepBeginning(answer.body), maxBytes);
    } catch (error) {
      const failure = error instanceof TooManyBytesError ? new RetrievalFailure('object_too_large') : error;
      if (ok || !(failure instanceof RetrievalFailure)) throw failure;
    }
    if (answer.status >= 400) throw new RetrievalFailure('http_error');
    if (!ok) throw new RetrievalFailure('invalid_response');
  }

  async *#keepBeginning(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of chunks) {
      const room = BEGINNING_BYTES - this.#attempt.beginning.length;
      if (room > 0)
        this.#attempt.beginning = Buffer.concat([this.#attempt.beginning, chunk.subarray(0, room)]);
      yield chunk;
    }
  }

  /** One polite, timed request and its answer; its headers are made when its turn has come. */
  async #exchange<Result>(
    url: URL,
    headers: () => Promise<Record<string, string>>,
    receive: (answer: Answer) => Promise<Result>,
  ): Promise<Result> {
    const { politeness, clock, lookup, isPrivateAddress } = this.#services;
    const { signal, timeoutMs, userAgent } = this.#request;
    return politeness.visit(url.hostname, signal, async () => {
      const started = clock.now();
      const deadline = new Deadline(clock, timeoutMs);
      try {
        return await exchange(
          {
            url,
            headers: requestHeaders(userAgent, await headers()),
            lookup,
            mayConnect: (address) => this.#sourceIsPrivate !== false || !isPrivateAddress(address),
            signal: AbortSignal.any([signal, deadline.signal]),
          },
          (answer) => {
            this.#attempt.answered = true;
            this.#sourceIsPrivate ??= isPrivateAddress(answer.address);
            this.#noteRetryAfter(url, answer);
            return receive({ ...answer, body: timed(answer.body, deadline) });
          },
        );
      } finally {
        deadline.settle();
        this.#attempt.duration_ms += clock.now() - started;
      }
    });
  }

  #noteRetryAfter(url: URL, answer: Answer): void {
    if (answer.status !== 429 && answer.status !== 503) return;
    const at = instantOfRetryAfter(answer.header('retry-after'), this.#services.clock.now());
    if (at === undefined) return;
    this.#attempt.retry_at = at;
    this.#services.politeness.hold(url.hostname, at);
  }
}

function isWeb(url: URL): boolean {
  return url.protocol === 'http:' || url.protocol === 'https:';
}

/** The owner's headers over ours, whatever their case; what makes the bytes exact is nobody's to change. */
function requestHeaders(userAgent: string, own: Record<string, string>): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': userAgent, accept: '*/*' };
  for (const [name, value] of Object.entries(own)) headers[name.toLowerCase()] = value;
  return { ...headers, 'accept-encoding': 'identity' };
}

function conditionsOf({ etag, last_modified }: Validators): Record<string, string> {
  return {
    ...(etag === null ? {} : { 'if-none-match': etag }),
    ...(last_modified === null ? {} : { 'if-modified-since': last_modified }),
  };
}

/** Moves the deadline on as long as bytes come fast enough. */
async function* timed(
  chunks: AsyncIterable<Uint8Array>,
  deadline: Deadline,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    deadline.extend((chunk.length / LEAST_BYTES_PER_SECOND) * 1000);
    yield chunk;
  }
}

async function beginningOf(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    kept.push(chunk.subarray(0, maxBytes - bytes));
    bytes += chunk.length;
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(kept).toString('utf8');
}

/** Retry-After (RFC 9110, section 10.2.3): seconds, or a date. */
function instantOfRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return now + Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : date;
}
