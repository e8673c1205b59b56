import robotsParser from 'robots-parser';
import type { Clock } from '../../shared/clock.ts';
import { RetrievalFailure } from './failure.ts';

/** What asking for a robots.txt came to. */
export interface RobotsAnswer {
  status: number;
  /** The first `MAX_ROBOTS_BYTES` of the body. */
  text: string;
}

/** robots.txt could not be read, so the page was not asked for either; `url` and `status` are the robots.txt's own. */
export class RobotsUnreachable extends RetrievalFailure {
  readonly url: string;
  readonly status: number | null;

  constructor(url: string, status: number | null, cause: RetrievalFailure) {
    super(cause.word, cause);
    this.url = url;
    this.status = status;
  }
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
 * where there are any, else the attempt fails as robots.txt did, because a server that is down is the reason, and
 * "disallowed" would be said of a site that disallowed nothing.
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
   * @throws RobotsUnreachable; whatever else `ask` throws.
   */
  async isAllowed(url: URL, agent: string, ask: (url: URL) => Promise<RobotsAnswer>): Promise<boolean> {
    const rules = await this.#rulesOf(url.origin, ask);
    return rules.isAllowed(url.href, agent);
  }

  async #rulesOf(origin: string, ask: (url: URL) => Promise<RobotsAnswer>): Promise<Rules> {
    const cached = this.#cached.get(origin);
    if (cached && this.#clock.now() < cached.freshUntil) return cached;
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
      if (answer.status >= 500)
        throw new RobotsUnreachable(url.href, answer.status, new RetrievalFailure('http_error'));
    } catch (error) {
      if (before && error instanceof RetrievalFailure) return this.#keep(origin, before, ASK_AGAIN_MS);
      if (error instanceof RetrievalFailure && !(error instanceof RobotsUnreachable))
        throw new RobotsUnreachable(url.href, null, error);
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
