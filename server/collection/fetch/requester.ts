import { MAX_BACKOFF_MS } from '../schedule/hostRateLimiter.ts';
import type { Attempt, FetchServices, ObjectRequest } from './attempt.ts';
import { Deadline } from './deadline.ts';
import type { HttpResponse } from './exchange.ts';
import { requestHeaders } from './requestHeaders.ts';
import { parseRetryAfter } from './retryAfter.ts';

type Rules = Pick<ObjectRequest<unknown>, 'userAgent' | 'timeoutMs' | 'allowPrivateAddress' | 'signal'>;
type AttemptStats = Pick<Attempt<unknown>, 'answered' | 'isPrivate' | 'retry_at' | 'duration_ms'>;

/** The HTTP client. It is loaded with the first request, because a node at rest does not need it. */
let exchanging: Promise<typeof import('./exchange.ts')> | undefined;

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
   * Sends one GET request when the host's rate limit allows it.
   *
   * @param headers called when the request is about to be sent.
   * @throws RetrievalFailure; HostBackoffError; the signal's reason; whatever `receive` throws.
   */
  async get<Result>(
    url: URL,
    headers: () => Promise<Record<string, string>>,
    receive: (response: HttpResponse) => Promise<Result>,
  ): Promise<Result> {
    const { rateLimiter, clock, connections, lookup, isPrivateAddress } = this.#services;
    const { signal, timeoutMs, userAgent } = this.#rules;
    return rateLimiter.run(url.hostname, signal, async () => {
      const { exchange } = await (exchanging ??= import('./exchange.ts'));
      // Before the timeout starts, because `headers` waits for this node's disk.
      const given = await headers();
      const started = clock.now();
      const deadline = new Deadline(clock, timeoutMs);
      try {
        return await exchange(
          {
            url,
            headers: requestHeaders(userAgent, given),
            connections,
            lookup,
            mayConnect: (address) => this.#sourceIsPrivate !== false || !isPrivateAddress(address),
            signal: AbortSignal.any([signal, deadline.signal]),
          },
          (response) => {
            this.#stats.answered = true;
            this.#stats.isPrivate ??= isPrivateAddress(response.address);
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
