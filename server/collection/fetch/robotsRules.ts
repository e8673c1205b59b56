/**
 * The rules of one robots.txt that are meant for one crawler (RFC 9309). Its text is a stranger's: reading it takes time
 * in proportion to its length, and matching stops at a bound.
 */
export interface RobotsRules {
  /** Longest pattern first, and of patterns of one length those that allow: the first that matches is the one that counts. */
  readonly rules: readonly Rule[];
  /** About how many bytes of memory they hold. */
  readonly bytes: number;
}

interface Rule {
  pattern: string;
  allow: boolean;
}

/** Applying the rules to an address takes more steps than anybody's honest rules would. */
export class RobotsTooComplexError extends Error {
  constructor() {
    super('The rules of this robots.txt take too long to apply.');
    this.name = 'RobotsTooComplexError';
  }
}

/** Some fifty milliseconds. Twenty thousand rules with wildcards, on an address of 250 characters, take as many. */
const MOST_STEPS = 5_000_000;
/** Beside its text, what a rule holds in memory. */
const BYTES_OF_A_RULE = 96;
/** What of a pattern or a path stands as it is in the form in which they are compared. */
const PLAIN = /^[\w\-./~!'(),;:@&=+*?]*$/;

/**
 * Reads what a robots.txt says to the crawler of this name: all groups that name it, whatever the case, else all that
 * are for everybody. Lines of other kinds are passed over and end no group (section 2.2.4).
 */
export function parseRobotsTxt(text: string, agent: string): RobotsRules {
  const wanted = agent.toLowerCase();
  const own: Rule[] = [];
  const everybodys: Rule[] = [];
  let isNamed = false;
  let into: Rule[][] = [];
  let isNaming = false;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [key, value] = keyAndValue(line);
    if (key === 'user-agent') {
      if (!isNaming) into = [];
      isNaming = true;
      const name = /^[^/\s]*/.exec(value.toLowerCase())?.[0] ?? '';
      const rules = name === '*' ? everybodys : name === wanted && name !== '' ? own : undefined;
      if (rules === own) isNamed = true;
      if (rules && !into.includes(rules)) into.push(rules);
    } else if (key === 'allow' || key === 'disallow') {
      isNaming = false;
      if (value !== '' && into.length > 0) {
        const rule = { pattern: comparablePattern(value), allow: key === 'allow' };
        for (const rules of into) rules.push(rule);
      }
    }
  }
  const rules = isNamed ? own : everybodys;
  rules.sort(
    (left, right) => right.pattern.length - left.pattern.length || Number(right.allow) - Number(left.allow),
  );
  return { rules, bytes: rules.reduce((sum, { pattern }) => sum + pattern.length + BYTES_OF_A_RULE, 0) };
}

/** A line's key in lower case and its value, without what follows a number sign. */
function keyAndValue(line: string): [key: string, value: string] {
  const comment = line.indexOf('#');
  const said = comment === -1 ? line : line.slice(0, comment);
  const colon = said.indexOf(':');
  return colon === -1 ? ['', ''] : [said.slice(0, colon).trim().toLowerCase(), said.slice(colon + 1).trim()];
}

/**
 * Whether an address may be asked for: the longest pattern that matches says so, and where none does, it may.
 *
 * @throws RobotsTooComplexError
 */
export function isAllowedBy({ rules }: RobotsRules, { pathname, search }: URL): boolean {
  // Section 2.2.2: it is allowed, whatever the rules say.
  if (pathname === '/robots.txt') return true;
  const path = comparable(pathname + search).replaceAll('*', '%2A');
  const left = { steps: MOST_STEPS };
  return rules.find(({ pattern }) => matches(pattern, path, left))?.allow ?? true;
}

/**
 * Whether a pattern matches the beginning of a path, or all of it where it ends with `$`; `*` stands for any characters.
 * Only the last `*` is ever tried again, so that no more is compared than the one length times the other.
 */
function matches(pattern: string, path: string, left: { steps: number }): boolean {
  const isWhole = pattern.endsWith('$');
  const length = isWhole ? pattern.length - 1 : pattern.length;
  let at = 0;
  let inPath = 0;
  let afterStar = -1;
  let retryFrom = 0;
  for (;;) {
    left.steps -= 1;
    if (left.steps < 0) throw new RobotsTooComplexError();
    if (at === length && (!isWhole || inPath === path.length)) return true;
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

/** A dollar sign is special at the end alone. */
function comparablePattern(pattern: string): string {
  const isWhole = pattern.endsWith('$');
  const rest = comparable(isWhole ? pattern.slice(0, -1) : pattern);
  return isWhole ? `${rest}$` : rest;
}

/**
 * The form in which patterns and paths are compared (section 2.2.2): what must be percent-encoded is, in capitals, and
 * what need not be is not. Asterisks stay.
 */
function comparable(text: string): string {
  if (PLAIN.test(text)) return text;
  return encodeURI(text.toWellFormed())
    .replaceAll('%25', '%')
    .replaceAll('$', '%24')
    .replace(/%[0-9a-f]{2}/gi, (code) => {
      const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
      return /[\w\-.~]/.test(character) ? character : code.toUpperCase();
    });
}
