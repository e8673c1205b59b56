import type { Settings } from '../../../shared/node/settings.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import { every, inBackground } from '../../runtime/background.ts';

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

  /** Until when a host wants no requests, in milliseconds since the epoch; in the past if it takes them. */
  pausedUntil(hostname: string): number {
    return Math.min(this.#hosts.get(hostname)?.pausedUntil ?? 0, this.#clock.now() + MAX_BACKOFF_MS);
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
    if (next < this.#wakeAt) inBackground(() => this.#startNextAt(next));
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

/** The initial and minimum limit. It is low because the first requests run before the code is optimized. */
const MIN_LIMIT = 4;
/** The increase after each interval in which the event loop was responsive. */
const INCREASE = 2;
const INTERVAL_MS = 10;
/** A delay of the event loop below which the limit grows. */
const RESPONSIVE_MS = 7;
/** A delay of the event loop above which the limit is halved. */
const BLOCKED_MS = 14;

/** Reports the delay of the event loop again and again. Returns a function that stops the reports. */
type EventLoopMonitor = (report: (delayMs: number) => void) => () => void;

/**
 * Limits the number of concurrent requests so that the node stays responsive during a round. Responses are processed on
 * the event loop, so many at once delay everything else. The limit starts low, grows while the event loop is responsive
 * and is halved when it was blocked, like TCP congestion control (RFC 5681, section 3.1). With slow sites it soon
 * reaches the limit of the settings.
 */
class AdaptiveConcurrency {
  readonly #onCapacity: () => void;
  readonly #watch: EventLoopMonitor;
  #stopWatching: (() => void) | undefined;
  #limit = MIN_LIMIT;
  #running = 0;
  /** Whether a request waits that the settings would allow. */
  #isLimiting = false;

  /** @param onCapacity called when the limit has grown and a request was refused before. */
  constructor(onCapacity: () => void, watch: EventLoopMonitor = watchEventLoop) {
    this.#onCapacity = onCapacity;
    this.#watch = watch;
  }

  /** Returns whether another request may start. `max` is the limit of the settings. */
  hasCapacity(max: number): boolean {
    this.#limit = Math.min(this.#limit, Math.max(max, MIN_LIMIT));
    this.#isLimiting = this.#running >= this.#limit && this.#running < max;
    return this.#running < Math.min(this.#limit, max);
  }

  /** Call it when a request starts. */
  onStart(): void {
    this.#running += 1;
    this.#stopWatching ??= this.#watch((delayMs) => this.#adapt(delayMs));
  }

  /** Call it when a request ends. */
  onEnd(): void {
    this.#running -= 1;
    if (this.#running > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  #adapt(delayMs: number): void {
    if (delayMs > BLOCKED_MS) this.#limit = Math.max(MIN_LIMIT, this.#limit >> 1);
    if (delayMs >= RESPONSIVE_MS) return;
    this.#limit += INCREASE;
    if (this.#isLimiting) this.#onCapacity();
  }
}

/** Measures by how much an interval timer is late. */
function watchEventLoop(report: (delayMs: number) => void): () => void {
  let last = performance.now();
  const timer = every(INTERVAL_MS, () => {
    const now = performance.now();
    report(now - last - INTERVAL_MS);
    last = now;
  });
  return () => clearInterval(timer);
}

/**
 * Calls functions when a signal is aborted, with one listener for each signal. A signal compares each new listener with
 * all it has, so thousands of requests of a round that wait with the same signal would take quadratic time.
 */
class AbortCalls {
  readonly #groups = new Map<AbortSignal, { calls: Set<() => void>; listener: () => void }>();

  add(signal: AbortSignal, call: () => void): void {
    let group = this.#groups.get(signal);
    if (!group) {
      const calls = new Set<() => void>();
      const listener = () => {
        this.#groups.delete(signal);
        for (const each of calls) each();
      };
      group = { calls, listener };
      this.#groups.set(signal, group);
      signal.addEventListener('abort', listener, { once: true });
    }
    group.calls.add(call);
  }

  remove(signal: AbortSignal, call: () => void): void {
    const group = this.#groups.get(signal);
    if (!group?.calls.delete(call) || group.calls.size > 0) return;
    this.#groups.delete(signal);
    signal.removeEventListener('abort', group.listener);
  }
}

interface AskedHost {
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
  readonly #hosts = new Map<string, AskedHost>();

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

  #keep(hostname: string, change: Partial<AskedHost>): void {
    if (this.#hosts.size >= MAX_HOSTS)
      for (const known of this.#hosts.keys())
        if (this.#closedUntil(known, false) <= this.#clock.now()) this.#hosts.delete(known);
    this.#hosts.set(hostname, { ...(this.#hosts.get(hostname) ?? NEVER), ...change });
  }
}

const NEVER: AskedHost = { askedAt: Number.NEGATIVE_INFINITY, pausedUntil: 0 };
