import type { Clock } from '../../../shared/clock.ts';
import { RetrievalFailure } from './failure.ts';
import { isAllowedBy, parseRobotsTxt, type RobotsRules, RobotsTooComplexError } from './robotsRules.ts';

/** What asking for a robots.txt came to. */
export interface RobotsResponse {
  status: number;
  /** The first `MAX_ROBOTS_BYTES` of the body. */
  text: string;
}

/** RFC 9309, section 2.5: at least 500 KiB must be read; what is beyond is not. */
export const MAX_ROBOTS_BYTES = 524_288;
/** RFC 9309, section 2.4: not used for longer than a day, unless it cannot be had anew. */
const FRESH_MS = 24 * 3_600_000;
/** Rules that could not be had anew are asked for again after this. */
const ASK_AGAIN_MS = 3_600_000;
const MAX_CACHED_ORIGINS = 1_000;
/** And no more than so much memory: a redirect may lead through as many origins as a stranger likes. */
const MAX_CACHED_BYTES = 33_554_432;

interface Kept {
  freshUntil: number;
  rules: RobotsRules;
}

const NO_RULES: RobotsRules = { rules: [], bytes: 0 };

/**
 * What each origin's robots.txt allows (RFC 9309). An answer of 4xx, or one that redirects without end, means that
 * there is no rule. One of 5xx, or none at all, means that nothing may be asked for: then the rules of before hold on
 * where there are any, else the attempt fails. "Disallowed" would be said of a site that disallowed nothing, so it is
 * `robots_unreachable`; and where the host did not answer at all, the word for that, because the page would have met it
 * as well.
 */
export class RobotsCache {
  readonly #clock: Clock;
  /** By the crawler's name and the origin: of each robots.txt only what is said to that crawler is kept. */
  readonly #kept = new Map<string, Kept>();
  readonly #asking = new Map<string, Promise<Kept>>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param ask gets an origin's robots.txt, following redirects; throws RetrievalFailure.
   * @throws RetrievalFailure `robots_unreachable`, also where its rules take too long to apply; whatever `ask` throws.
   */
  async isAllowed(url: URL, agent: string, ask: (url: URL) => Promise<RobotsResponse>): Promise<boolean> {
    const { rules } = await this.#rulesOf(url.origin, agent, ask);
    try {
      return isAllowedBy(rules, url);
    } catch (error) {
      throw error instanceof RobotsTooComplexError
        ? new RetrievalFailure('robots_unreachable', error)
        : error;
    }
  }

  async #rulesOf(origin: string, agent: string, ask: (url: URL) => Promise<RobotsResponse>): Promise<Kept> {
    const key = `${agent} ${origin}`;
    const kept = this.#kept.get(key);
    const freshFor = kept ? kept.freshUntil - this.#clock.now() : 0;
    // More than a day is left only where the clock was set back.
    if (kept && freshFor > 0 && freshFor <= FRESH_MS) return kept;
    let asking = this.#asking.get(key);
    if (!asking) {
      const read = async () => readRules(await ask(new URL('/robots.txt', origin)), agent);
      asking = this.#read(key, kept, read).finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    return asking;
  }

  async #read(key: string, before: Kept | undefined, read: () => Promise<RobotsRules>): Promise<Kept> {
    try {
      return this.#keep(key, await read(), FRESH_MS);
    } catch (error) {
      if (before && error instanceof RetrievalFailure) return this.#keep(key, before.rules, ASK_AGAIN_MS);
      throw error;
    }
  }

  #keep(key: string, rules: RobotsRules, ms: number): Kept {
    const kept = { rules, freshUntil: this.#clock.now() + ms };
    this.#forget(key);
    this.#kept.set(key, kept);
    this.#bytes += rules.bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_CACHED_ORIGINS && this.#bytes <= MAX_CACHED_BYTES) break;
      this.#forget(oldest);
    }
    return kept;
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.rules.bytes ?? 0;
    this.#kept.delete(key);
  }
}

/** @throws RetrievalFailure `robots_unreachable`. */
function readRules({ status, text }: RobotsResponse, agent: string): RobotsRules {
  if (status >= 500) throw new RetrievalFailure('robots_unreachable');
  return status >= 200 && status < 300 ? parseRobotsTxt(text, agent) : NO_RULES;
}
