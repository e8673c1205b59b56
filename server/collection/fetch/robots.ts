import type { Clock } from '../../../shared/values/clock.ts';
import { once } from '../../runtime/concurrency.ts';
import { RetrievalFailure } from './connect.ts';

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
    const read = async () => readRules(await fetch(new URL('/robots.txt', origin)), agent);
    const refresh = () => this.#refresh(key, cached, read).finally(() => this.#pending.delete(key));
    return once(this.#pending, key, refresh);
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

/**
 * The rules of one robots.txt for one crawler (RFC 9309). The file is untrusted input: parsing takes linear time, and
 * matching stops after a maximum number of steps.
 */
interface RobotsRules {
  /** Sorted by pattern length, longest first, and `allow` before `disallow`. The first rule that matches decides. */
  readonly rules: readonly Rule[];
  /** The approximate memory use. */
  readonly bytes: number;
}

interface Rule {
  pattern: string;
  allow: boolean;
}

/** Matching a URL against the rules takes more than `MAX_STEPS` steps. */
export class RobotsTooComplexError extends Error {
  constructor() {
    super('The rules of this robots.txt take too long to apply.');
    this.name = 'RobotsTooComplexError';
  }
}

/** About 50 ms. Enough for 20,000 rules with wildcards and a URL of 250 characters. */
const MAX_STEPS = 5_000_000;
/** The memory use of a rule besides its pattern. */
const BYTES_PER_RULE = 96;
/** Texts that normalization does not change. */
const NORMALIZED = /^[\w\-./~!'(),;:@&=+*?]*$/;

/**
 * Parses the rules of a robots.txt for a crawler: those of all groups that name it, ignoring case, else those of the
 * `*` groups. Other lines are ignored and do not end a group (section 2.2.4).
 */
export function parseRobotsTxt(text: string, agent: string): RobotsRules {
  const agentName = agent.toLowerCase();
  const agentRules: Rule[] = [];
  const wildcardRules: Rule[] = [];
  let isNamed = false;
  let group: Rule[][] = [];
  let isGroupHeader = false;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [key, value] = keyAndValue(line);
    if (key === 'user-agent') {
      if (!isGroupHeader) group = [];
      isGroupHeader = true;
      const name = /^[^/\s]*/.exec(value.toLowerCase())?.[0] ?? '';
      const rules = name === '*' ? wildcardRules : name === agentName && name !== '' ? agentRules : undefined;
      if (rules === agentRules) isNamed = true;
      if (rules && !group.includes(rules)) group.push(rules);
    } else if (key === 'allow' || key === 'disallow') {
      isGroupHeader = false;
      if (value !== '' && group.length > 0) {
        const rule = { pattern: normalizePattern(value), allow: key === 'allow' };
        for (const rules of group) rules.push(rule);
      }
    }
  }
  const rules = isNamed ? agentRules : wildcardRules;
  rules.sort(
    (left, right) => right.pattern.length - left.pattern.length || Number(right.allow) - Number(left.allow),
  );
  return { rules, bytes: rules.reduce((sum, { pattern }) => sum + pattern.length + BYTES_PER_RULE, 0) };
}

/** Returns the key of a line in lower case and its value, without a comment. */
function keyAndValue(line: string): [key: string, value: string] {
  const comment = line.indexOf('#');
  const content = comment === -1 ? line : line.slice(0, comment);
  const colon = content.indexOf(':');
  if (colon === -1) return ['', ''];
  return [content.slice(0, colon).trim().toLowerCase(), content.slice(colon + 1).trim()];
}

/**
 * Returns whether the rules allow a URL. The longest matching pattern decides; a URL that no pattern matches is allowed.
 *
 * @throws RobotsTooComplexError
 */
export function isAllowedBy({ rules }: RobotsRules, { pathname, search }: URL): boolean {
  // Section 2.2.2: robots.txt itself is always allowed.
  if (pathname === '/robots.txt') return true;
  const path = normalize(pathname + search).replaceAll('*', '%2A');
  const left = { steps: MAX_STEPS };
  return rules.find(({ pattern }) => matches(pattern, path, left))?.allow ?? true;
}

/**
 * Returns whether a pattern matches the beginning of a path, or the full path if the pattern ends with `$`. `*` matches
 * any characters. Only the last `*` is backtracked, so the cost is at most the product of the two lengths.
 */
function matches(pattern: string, path: string, left: { steps: number }): boolean {
  const isAnchored = pattern.endsWith('$');
  const length = isAnchored ? pattern.length - 1 : pattern.length;
  let at = 0;
  let inPath = 0;
  let afterStar = -1;
  let retryFrom = 0;
  for (;;) {
    left.steps -= 1;
    if (left.steps < 0) throw new RobotsTooComplexError();
    if (at === length && (!isAnchored || inPath === path.length)) return true;
    if (at < length && pattern.charCodeAt(at) === STAR) {
      at += 1;
      afterStar = at;
      retryFrom = inPath;
    } else if (at < length && inPath < path.length && pattern.charCodeAt(at) === path.charCodeAt(inPath)) {
      at += 1;
      inPath += 1;
    } else {
      if (afterStar === -1 || retryFrom >= path.length) return false;
      retryFrom += 1;
      inPath = retryFrom;
      at = afterStar;
    }
  }
}

const STAR = 0x2a;

/** A dollar sign is special only at the end. */
function normalizePattern(pattern: string): string {
  const isAnchored = pattern.endsWith('$');
  const rest = normalize(isAnchored ? pattern.slice(0, -1) : pattern);
  return isAnchored ? `${rest}$` : rest;
}

/**
 * Normalizes percent-encoding so that patterns and paths can be compared (section 2.2.2): encodes what must be encoded,
 * decodes unreserved characters, and writes hex digits in upper case. Asterisks stay.
 */
function normalize(text: string): string {
  if (NORMALIZED.test(text)) return text;
  return encodeURI(text.toWellFormed())
    .replaceAll('%25', '%')
    .replaceAll('$', '%24')
    .replace(/%[0-9a-f]{2}/gi, (code) => {
      const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
      return /[\w\-.~]/.test(character) ? character : code.toUpperCase();
    });
}
