import type { Clock } from '../../../shared/values/clock.ts';
import {
  HostBackoffError,
  type HostRateLimiter,
  MAX_BACKOFF_IN_ROUND_MS,
  MAX_BACKOFF_MS,
} from './hostRateLimiter.ts';

interface Host {
  /** When it was last asked something for a peer. */
  askedAt: number;
  /** Until when it wants no requests for peers. */
  pausedUntil: number;
}

/** Beyond this number, hosts that may be asked again are forgotten. */
const MAX_HOSTS = 2_000;
/** The pause between two looks at a host, in pauses between two requests of this node's own. */
const PAUSES = 10;

/**
 * Limits the requests that this node sends for its peers, so that a peer cannot hold up the checks of the node itself. They are
 * sent within the limits of those, never to a host that wants a pause, and seldom to the same host. A pause that a host
 * wants because of them holds for all of them, and for the node's own requests a minute at most.
 */
export class LookLimiter {
  readonly #own: HostRateLimiter;
  readonly #clock: Clock;
  readonly #pauseMs: () => number;
  readonly #hosts = new Map<string, Host>();

  /** @param pauseMs the pause between two requests of the node's own to a host */
  constructor(own: HostRateLimiter, clock: Clock, pauseMs: () => number) {
    this.#own = own;
    this.#clock = clock;
    this.#pauseMs = pauseMs;
  }

  /** Returns the limiter of one look, which may take several requests. Its `run` throws HostBackoffError. */
  begin(): Pick<HostRateLimiter, 'run' | 'pauseUntil'> {
    const asked = new Set<string>();
    return {
      run: async (hostname, signal, request) => {
        const now = this.#clock.now();
        const until = this.#closedUntil(hostname, asked.has(hostname));
        if (until > now) throw new HostBackoffError(until);
        asked.add(hostname);
        this.#keep(hostname, { askedAt: now });
        return this.#own.run(hostname, signal, request);
      },
      pauseUntil: (hostname, until) => {
        const now = this.#clock.now();
        this.#keep(hostname, { pausedUntil: Math.min(until, now + MAX_BACKOFF_MS) });
        this.#own.pauseUntil(hostname, Math.min(until, now + MAX_BACKOFF_IN_ROUND_MS));
      },
    };
  }

  #closedUntil(hostname: string, isAsked: boolean): number {
    const now = this.#clock.now();
    const { askedAt, pausedUntil } = this.#hosts.get(hostname) ?? NEVER;
    // What is further in the future was kept before the clock was set back.
    const paused = Math.min(pausedUntil, now + MAX_BACKOFF_MS);
    const next = isAsked ? 0 : Math.min(askedAt, now) + PAUSES * this.#pauseMs();
    return Math.max(this.#own.pausedUntil(hostname), paused, next);
  }

  #keep(hostname: string, change: Partial<Host>): void {
    if (this.#hosts.size >= MAX_HOSTS)
      for (const known of this.#hosts.keys())
        if (this.#closedUntil(known, false) <= this.#clock.now()) this.#hosts.delete(known);
    this.#hosts.set(hostname, { ...(this.#hosts.get(hostname) ?? NEVER), ...change });
  }
}

const NEVER: Host = { askedAt: Number.NEGATIVE_INFINITY, pausedUntil: 0 };
