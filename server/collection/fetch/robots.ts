import type { Clock } from '../../../shared/values/clock.ts';
import { RetrievalFailure } from './failure.ts';
import { isAllowedBy, parseRobotsTxt, type RobotsRules, RobotsTooComplexError } from './robotsRules.ts';

/** The response to a request for robots.txt. */
export interface RobotsResponse {
  status: number;
  /** The first `MAX_ROBOTS_BYTES` of the body. */
  text: string;
}

/** RFC 9309, section 2.5: crawlers must parse at least 500 KiB. The rest is ignored. */
export const MAX_ROBOTS_BYTES = 524_288;
/** RFC 9309, section 2.4: rules should not be cached for more than a day, unless robots.txt is unreachable. */
const FRESH_MS = 24 * 3_600_000;
/** The delay before robots.txt is requested again after a failure. */
const RETRY_MS = 3_600_000;
const MAX_CACHED_ORIGINS = 1_000;
/** The memory limit of the cache. Without it, redirects through many origins could exhaust memory. */
const MAX_CACHED_BYTES = 33_554_432;

interface CachedRules {
  freshUntil: number;
  rules: RobotsRules;
}

const NO_RULES: RobotsRules = { rules: [], bytes: 0 };

/**
 * Caches the rules of each origin's robots.txt (RFC 9309). A status of 4xx or too many redirects mean that there are no
 * rules. A status of 5xx or no response at all mean that nothing may be fetched: then the previous rules stay in force,
 * or without any the attempt fails. It fails with `robots_unreachable` after a 5xx, because the site did not disallow
 * anything, and with the connection's own error if the host did not respond.
 */
export class RobotsCache {
  readonly #clock: Clock;
  /** Keyed by crawler name and origin. Only the rules for that crawler are cached. */
  readonly #cached = new Map<string, CachedRules>();
  readonly #pending = new Map<string, Promise<CachedRules>>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns whether the crawler `agent` may fetch a URL.
   *
   * @param fetch fetches a robots.txt and follows redirects; throws RetrievalFailure.
   * @throws RetrievalFailure `robots_unreachable`, also if the rules take too long to apply; whatever `fetch` throws.
   */
  async isAllowed(url: URL, agent: string, fetch: (url: URL) => Promise<RobotsResponse>): Promise<boolean> {
    const { rules } = await this.#rulesOf(url.origin, agent, fetch);
    try {
      return isAllowedBy(rules, url);
    } catch (error) {
      throw error instanceof RobotsTooComplexError
        ? new RetrievalFailure('robots_unreachable', error)
        : error;
    }
  }

  async #rulesOf(
    origin: string,
    agent: string,
    fetch: (url: URL) => Promise<RobotsResponse>,
  ): Promise<CachedRules> {
    const key = `${agent} ${origin}`;
    const cached = this.#cached.get(key);
    const freshFor = cached ? cached.freshUntil - this.#clock.now() : 0;
    // More than a day is left only if the clock was set back.
    if (cached && freshFor > 0 && freshFor <= FRESH_MS) return cached;
    let pending = this.#pending.get(key);
    if (!pending) {
      const read = async () => readRules(await fetch(new URL('/robots.txt', origin)), agent);
      pending = this.#refresh(key, cached, read).finally(() => this.#pending.delete(key));
      this.#pending.set(key, pending);
    }
    return pending;
  }

  async #refresh(
    key: string,
    before: CachedRules | undefined,
    read: () => Promise<RobotsRules>,
  ): Promise<CachedRules> {
    try {
      return this.#store(key, await read(), FRESH_MS);
    } catch (error) {
      if (before && error instanceof RetrievalFailure) return this.#store(key, before.rules, RETRY_MS);
      throw error;
    }
  }

  #store(key: string, rules: RobotsRules, ms: number): CachedRules {
    const cached = { rules, freshUntil: this.#clock.now() + ms };
    this.#delete(key);
    this.#cached.set(key, cached);
    this.#bytes += rules.bytes;
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= MAX_CACHED_ORIGINS && this.#bytes <= MAX_CACHED_BYTES) break;
      this.#delete(oldest);
    }
    return cached;
  }

  #delete(key: string): void {
    this.#bytes -= this.#cached.get(key)?.rules.bytes ?? 0;
    this.#cached.delete(key);
  }
}

/** @throws RetrievalFailure `robots_unreachable`. */
function readRules({ status, text }: RobotsResponse, agent: string): RobotsRules {
  if (status >= 500) throw new RetrievalFailure('robots_unreachable');
  return status >= 200 && status < 300 ? parseRobotsTxt(text, agent) : NO_RULES;
}
