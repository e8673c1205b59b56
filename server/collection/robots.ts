import robotsParser from 'robots-parser';
import type { Clock } from '../../shared/clock.ts';
import { RetrievalFailure } from './failure.ts';

/** What asking for a robots.txt came to. */
export interface RobotsAnswer {
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

/** The package's own types describe an ES module that it is not. */
const parseRobots = robotsParser as unknown as (
  url: string,
  text: string,
) => { isAllowed(url: string, agent: string): boolean | undefined };

interface Rules {
  freshUntil: number;
  isAllowed: (url: string, agent: string) => boolean;
}

/**
 * What each origin's robots.txt allows (RFC 9309). An answer of 4xx, or one that redirects without end, means that
 * there is no rule. One of 5xx, or none at all, means that nothing may be asked for: then the rules of before hold on
 * where there are any, else the attempt fails. "Disallowed" would be said of a site that disallowed nothing, so it is
 * `robots_unreachable`; and where the host did not answer at all, the word for that, because the page would have met it
 * as well.
 */
export class Robots {
  readonly #clock: Clock;
  readonly #cached = new Map<string, Rules>();
  readonly #asking = new Map<string, Promise<Rules>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param ask gets an origin's robots.txt, following redirects; throws RetrievalFailure.
   * @throws RetrievalFailure `robots_unreachable`; whatever `ask` throws.
   */
  async isAllowed(url: URL, agent: string, ask: (url: URL) => Promise<RobotsAnswer>): Promise<boolean> {
    const rules = await this.#rulesOf(url.origin, ask);
    return rules.isAllowed(url.href, agent);
  }

  async #rulesOf(origin: string, ask: (url: URL) => Promise<RobotsAnswer>): Promise<Rules> {
    const cached = this.#cached.get(origin);
    const freshFor = cached ? cached.freshUntil - this.#clock.now() : 0;
    // More than a day is left only where the clock was set back.
    if (cached && freshFor > 0 && freshFor <= FRESH_MS) return cached;
    let asking = this.#asking.get(origin);
    if (!asking) {
      asking = this.#read(origin, cached, ask).finally(() => this.#asking.delete(origin));
      this.#asking.set(origin, asking);
    }
    return asking;
  }

  async #read(
    origin: string,
    before: Rules | undefined,
    ask: (url: URL) => Promise<RobotsAnswer>,
  ): Promise<Rules> {
    const url = new URL('/robots.txt', origin);
    let answer: RobotsAnswer;
    try {
      answer = await ask(url);
      if (answer.status >= 500) throw new RetrievalFailure('robots_unreachable');
    } catch (error) {
      if (before && error instanceof RetrievalFailure) return this.#keep(origin, before, ASK_AGAIN_MS);
      throw error;
    }
    return this.#keep(origin, { isAllowed: rulesOf(url.href, answer) }, FRESH_MS);
  }

  #keep(origin: string, { isAllowed }: Pick<Rules, 'isAllowed'>, ms: number): Rules {
    const rules = { isAllowed, freshUntil: this.#clock.now() + ms };
    this.#cached.delete(origin);
    this.#cached.set(origin, rules);
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= MAX_CACHED_ORIGINS) break;
      this.#cached.delete(oldest);
    }
    return rules;
  }
}

function rulesOf(url: string, { status, text }: RobotsAnswer): Rules['isAllowed'] {
  if (status < 200 || status >= 300) return () => true;
  const parsed = parseRobots(url, text);
  return (page, agent) => parsed.isAllowed(page, agent) ?? true;
}
