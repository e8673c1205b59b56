import { MAX_BACKOFF_MS } from '../schedule/hostRateLimiter.ts';
import type { Attempt, FetchServices, ObjectRequest } from './attempt.ts';
import { Deadline } from './deadline.ts';
import { type Answer, exchange } from './exchange.ts';
import { requestHeaders } from './requestHeaders.ts';
import { parseRetryAfter } from './retryAfter.ts';

type Rules = Pick<ObjectRequest<unknown>, 'userAgent' | 'timeoutMs' | 'allowPrivateAddress' | 'signal'>;
type Noted = Pick<Attempt<unknown>, 'answered' | 'isPrivate' | 'retry_at' | 'duration_ms'>;

/** A body that comes more slowly than this, once the time-out is used up, is given up. */
const LEAST_BYTES_PER_SECOND = 50_000;

/**
 * Makes the requests of one attempt: each in its turn, within its time, and to no private address unless the source
 * itself was met at one. What concerns them all is noted in the attempt.
 */
export class Requester {
  readonly #services: FetchServices;
  readonly #rules: Rules;
  readonly #noted: Noted;
  /** Whether private addresses may be asked: the source itself was met at one. Undefined until it answered. */
  #sourceIsPrivate: boolean | undefined;

  constructor(services: FetchServices, rules: Rules, noted: Noted) {
    this.#services = services;
    this.#rules = rules;
    this.#noted = noted;
    this.#sourceIsPrivate = rules.allowPrivateAddress === false ? false : undefined;
  }

  /**
   * One polite, timed request and its answer; its headers are made when its turn has come.
   *
   * @throws RetrievalFailure; HostBackoffError; the signal's reason; whatever `receive` throws.
   */
  async ask<Result>(
    url: URL,
    headers: () => Promise<Record<string, string>>,
    receive: (answer: Answer) => Promise<Result>,
  ): Promise<Result> {
    const { rateLimiter, clock, connections, lookup, isPrivateAddress } = this.#services;
    const { signal, timeoutMs, userAgent } = this.#rules;
    return rateLimiter.visit(url.hostname, signal, async () => {
      // Made before the time counts: what they wait for is the node's own.
      const own = await headers();
      const started = clock.now();
      const deadline = new Deadline(clock, timeoutMs);
      try {
        return await exchange(
          {
            url,
            headers: requestHeaders(userAgent, own),
            connections,
            lookup,
            mayConnect: (address) => this.#sourceIsPrivate !== false || !isPrivateAddress(address),
            signal: AbortSignal.any([signal, deadline.signal]),
          },
          (answer) => {
            this.#noted.answered = true;
            this.#noted.isPrivate ??= isPrivateAddress(answer.address);
            this.#sourceIsPrivate ??= this.#noted.isPrivate;
            this.#noteRetryAfter(url, answer);
            return receive({ ...answer, body: timed(answer.body, deadline) });
          },
        );
      } finally {
        deadline.settle();
        this.#noted.duration_ms += clock.now() - started;
      }
    });
  }

  #noteRetryAfter(url: URL, answer: Answer): void {
    if (answer.status !== 429 && answer.status !== 503) return;
    const now = this.#services.clock.now();
    const wanted = parseRetryAfter(answer.header('retry-after'), now);
    if (wanted === undefined) return;
    const at = Math.min(wanted, now + MAX_BACKOFF_MS);
    this.#noted.retry_at = at;
    this.#services.rateLimiter.hold(url.hostname, at);
  }
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
