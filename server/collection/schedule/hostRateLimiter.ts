import type { Settings } from '../../../shared/node/settings.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import { AbortCalls } from './abortCalls.ts';
import { AdaptiveConcurrency, type EventLoopMonitor } from './adaptiveConcurrency.ts';

/** A host asked for a pause (Retry-After) that is longer than a round waits. */
export class HostBackoffError extends Error {
  readonly until: number;

  constructor(until: number) {
    super('The host accepts no requests for now.');
    this.name = 'HostBackoffError';
    this.until = until;
  }
}

type Limits = Pick<Settings, 'per_host_concurrency' | 'per_host_pause_ms' | 'collection_concurrency'>;

interface Waiting {
  start: () => void;
  refuse: (error: unknown) => void;
}

interface Host {
  active: number;
  lastStart: number;
  pausedUntil: number;
  waiting: Waiting[];
}

/** The longest pause (Retry-After) that a round waits for. */
export const MAX_BACKOFF_IN_ROUND_MS = 60_000;
/** The longest pause that is granted to a host. */
export const MAX_BACKOFF_MS = 24 * 3_600_000;
/** Beyond this number, idle hosts are removed from the map. */
const MAX_IDLE_HOSTS = 2_000;

/**
 * Limits requests per host and overall. Per host it limits the concurrency, enforces an interval between requests, and
 * obeys Retry-After. Overall it limits the concurrency to the setting and to what the event loop can take. A request
 * waits for its host before it takes a global slot, so that a slow host does not block the others.
 */
export class HostRateLimiter {
  readonly #clock: Clock;
  readonly #limits: () => Limits;
  readonly #hosts = new Map<string, Host>();
  readonly #concurrency: AdaptiveConcurrency;
  readonly #aborted = new AbortCalls();
  #wakeAt = Number.POSITIVE_INFINITY;
  #wake: AbortController | undefined;

  /** @param watch how the delay of the event loop is measured; by default with a timer. */
  constructor(clock: Clock, limits: () => Limits, watch?: EventLoopMonitor) {
    this.#clock = clock;
    this.#limits = limits;
    this.#concurrency = new AdaptiveConcurrency(() => this.#startNext(), watch);
  }

  /**
   * Runs one request to a host as soon as the limits allow it.
   *
   * @throws HostBackoffError if the host asked for a longer pause than a round waits; the signal's reason.
   */
  async run<Result>(hostname: string, signal: AbortSignal, request: () => Promise<Result>): Promise<Result> {
    const host = this.#host(hostname);
    await this.#waitForSlot(host, signal);
    try {
      return await request();
    } finally {
      host.active -= 1;
      this.#concurrency.onEnd();
      this.#startNext();
    }
  }

  /** Sends no requests to a host until a point in time, in milliseconds since the epoch. */
  pauseUntil(hostname: string, until: number): void {
    const host = this.#host(hostname);
    host.pausedUntil = Math.max(host.pausedUntil, Math.min(until, this.#clock.now() + MAX_BACKOFF_MS));
  }

  #host(hostname: string): Host {
    let host = this.#hosts.get(hostname);
    if (!host) {
      this.#removeIdle();
      host = { active: 0, lastStart: Number.NEGATIVE_INFINITY, pausedUntil: 0, waiting: [] };
      this.#hosts.set(hostname, host);
    }
    return host;
  }

  #removeIdle(): void {
    if (this.#hosts.size < MAX_IDLE_HOSTS) return;
    for (const [hostname, host] of this.#hosts) {
      const idle = host.active === 0 && host.waiting.length === 0;
      if (idle && this.#earliestStart(host) <= this.#clock.now()) this.#hosts.delete(hostname);
    }
  }

  #waitForSlot(host: Host, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const leave = () => {
        host.waiting.splice(host.waiting.indexOf(waiting), 1);
        reject(signal.reason as Error);
      };
      const waiting: Waiting = {
        start: () => {
          this.#aborted.remove(signal, leave);
          resolve();
        },
        refuse: (error) => {
          this.#aborted.remove(signal, leave);
          reject(error as Error);
        },
      };
      this.#aborted.add(signal, leave);
      host.waiting.push(waiting);
      this.#startNext();
    });
  }

  #earliestStart(host: Host): number {
    const now = this.#clock.now();
    // A start in the future means that the clock was set back.
    const lastStart = Math.min(host.lastStart, now);
    return Math.max(
      lastStart + this.#limits().per_host_pause_ms,
      Math.min(host.pausedUntil, now + MAX_BACKOFF_MS),
    );
  }

  /** Starts all requests that may start now, and sets a timer for the next one. */
  #startNext(): void {
    const now = this.#clock.now();
    const limits = this.#limits();
    let next = Number.POSITIVE_INFINITY;
    for (const [hostname, host] of this.#hosts) {
      this.#refuseIfPaused(host, now);
      while (host.waiting.length > 0 && host.active < limits.per_host_concurrency) {
        if (!this.#concurrency.hasCapacity(limits.collection_concurrency)) return;
        const earliestStart = this.#earliestStart(host);
        if (earliestStart > now) {
          next = Math.min(next, earliestStart);
          break;
        }
        this.#start(host, now);
        // Moves the host to the end of the map, so that hosts share the global slots in turn.
        this.#hosts.delete(hostname);
        this.#hosts.set(hostname, host);
      }
    }
    if (next < this.#wakeAt) void this.#startNextAt(next);
  }

  #refuseIfPaused(host: Host, now: number): void {
    if (host.pausedUntil - now <= MAX_BACKOFF_IN_ROUND_MS) return;
    for (const { refuse } of host.waiting.splice(0)) refuse(new HostBackoffError(host.pausedUntil));
  }

  #start(host: Host, now: number): void {
    host.active += 1;
    host.lastStart = now;
    this.#concurrency.onStart();
    host.waiting.shift()?.start();
  }

  async #startNextAt(at: number): Promise<void> {
    this.#wake?.abort();
    const wake = new AbortController();
    this.#wake = wake;
    this.#wakeAt = at;
    await this.#clock.sleep(at - this.#clock.now(), wake.signal);
    if (this.#wake !== wake) return;
    this.#wake = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#startNext();
  }

  /** Stops the timer. Requests that still wait must be aborted by their own signals. */
  close(): void {
    this.#wake?.abort();
    this.#hosts.clear();
  }
}
