import type { Clock } from '../../../shared/clock.ts';
import type { Settings } from '../../../shared/settings.ts';
import { Pace } from './pace.ts';

/** A host asked (Retry-After) to be left alone for longer than a round waits. */
export class HostBackoffError extends Error {
  readonly until: number;

  constructor(until: number) {
    super('The host asked to be left alone.');
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
  heldUntil: number;
  waiting: Waiting[];
}

/** A host that asks for more than this is not waited for in a round. */
export const MAX_BACKOFF_IN_ROUND_MS = 60_000;
/** No host can keep itself from being asked for longer than this. */
export const MAX_BACKOFF_MS = 24 * 3_600_000;
/** Hosts that nobody waits for are forgotten beyond this many. */
const MAX_IDLE_HOSTS = 2_000;

/**
 * Who may be asked when: per host so many requests at once and a pause between their starts, as long as the host
 * asked to be left alone none, and over all hosts so many at once as the settings and the node's pace allow. A request waits for its host before it takes one of
 * the places shared by all, so that a slow host keeps nobody else waiting.
 */
export class HostRateLimiter {
  readonly #clock: Clock;
  readonly #limits: () => Limits;
  readonly #hosts = new Map<string, Host>();
  readonly #pace = new Pace(() => this.#startNext());
  #wakeAt = Number.POSITIVE_INFINITY;
  #wake: AbortController | undefined;

  constructor(clock: Clock, limits: () => Limits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Runs one request to a host as soon as that is polite.
   *
   * @throws HostBackoffError where the host is to be left alone for longer than a round waits; the signal's reason.
   */
  async visit<Result>(
    hostname: string,
    signal: AbortSignal,
    request: () => Promise<Result>,
  ): Promise<Result> {
    const host = this.#host(hostname);
    await this.#turn(host, signal);
    try {
      return await request();
    } finally {
      host.active -= 1;
      this.#pace.ended();
      this.#startNext();
    }
  }

  /** Leaves a host alone until an instant, as it asked. */
  hold(hostname: string, until: number): void {
    const host = this.#host(hostname);
    host.heldUntil = Math.max(host.heldUntil, Math.min(until, this.#clock.now() + MAX_BACKOFF_MS));
  }

  #host(hostname: string): Host {
    let host = this.#hosts.get(hostname);
    if (!host) {
      this.#forgetIdle();
      host = { active: 0, lastStart: Number.NEGATIVE_INFINITY, heldUntil: 0, waiting: [] };
      this.#hosts.set(hostname, host);
    }
    return host;
  }

  #forgetIdle(): void {
    if (this.#hosts.size < MAX_IDLE_HOSTS) return;
    for (const [hostname, host] of this.#hosts) {
      const idle = host.active === 0 && host.waiting.length === 0;
      if (idle && this.#mayStartAt(host) <= this.#clock.now()) this.#hosts.delete(hostname);
    }
  }

  #turn(host: Host, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const leave = () => {
        host.waiting.splice(host.waiting.indexOf(waiting), 1);
        reject(signal.reason as Error);
      };
      const waiting: Waiting = {
        start: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
        refuse: (error) => {
          signal.removeEventListener('abort', leave);
          reject(error as Error);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      host.waiting.push(waiting);
      this.#startNext();
    });
  }

  #mayStartAt(host: Host): number {
    const now = this.#clock.now();
    // What lies in the future cannot have been: the clock was set back meanwhile.
    const lastStart = Math.min(host.lastStart, now);
    return Math.max(
      lastStart + this.#limits().per_host_pause_ms,
      Math.min(host.heldUntil, now + MAX_BACKOFF_MS),
    );
  }

  /** Starts whatever may start now, and wakes again when the next may. */
  #startNext(): void {
    const now = this.#clock.now();
    const limits = this.#limits();
    let next = Number.POSITIVE_INFINITY;
    for (const [hostname, host] of this.#hosts) {
      this.#refuseIfHeld(host, now);
      while (host.waiting.length > 0 && host.active < limits.per_host_concurrency) {
        if (!this.#pace.hasRoom(limits.collection_concurrency)) return;
        const mayStartAt = this.#mayStartAt(host);
        if (mayStartAt > now) {
          next = Math.min(next, mayStartAt);
          break;
        }
        this.#start(host, now);
        // To the end of the line, so that the shared places go round all hosts.
        this.#hosts.delete(hostname);
        this.#hosts.set(hostname, host);
      }
    }
    if (next < this.#wakeAt) void this.#wakeUp(next);
  }

  #refuseIfHeld(host: Host, now: number): void {
    if (host.heldUntil - now <= MAX_BACKOFF_IN_ROUND_MS) return;
    for (const { refuse } of host.waiting.splice(0)) refuse(new HostBackoffError(host.heldUntil));
  }

  #start(host: Host, now: number): void {
    host.active += 1;
    host.lastStart = now;
    this.#pace.begun();
    host.waiting.shift()?.start();
  }

  async #wakeUp(at: number): Promise<void> {
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

  /** Ends the waiting for the next start; whoever still waits does so by a signal of their own. */
  close(): void {
    this.#wake?.abort();
    this.#hosts.clear();
  }
}
