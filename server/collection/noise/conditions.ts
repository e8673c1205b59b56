import { RE2JS } from 're2js';
import type { Conditions } from '../../../shared/alerts/alert.ts';
import { occursIn, preparedWords } from './words.ts';

/** What is watched of two versions, as text; no older one if the newer one is the first. */
export interface WatchedTexts {
  from: string | null;
  to: string;
  /** The same without the targets of links: a number in an address is none that a reader sees. */
  shown: { from: string; to: string };
}

/** Longer texts are searched up to here. */
const MAX_SEARCHED = 1_000_000;
/** The most matches of a pattern that are compared. */
const MAX_MATCHES = 10_000;

/** Returns whether a change of what is watched meets all of the conditions. Runs in the derive process. */
export function meetsConditions(
  { number, pattern, appears, disappears }: Conditions,
  texts: WatchedTexts,
): boolean {
  const from = texts.from?.slice(0, MAX_SEARCHED) ?? null;
  const to = texts.to.slice(0, MAX_SEARCHED);
  return (
    (number === undefined || meetsNumber(number, numberIn(texts.shown.from), numberIn(texts.shown.to))) &&
    (pattern === undefined || hasNewMatch(RE2JS.compile(pattern), from ?? '', to)) &&
    (appears === undefined || arrives(appears, from ?? '', to)) &&
    (disappears === undefined || arrives(disappears, to, from ?? ''))
  );
}

function numberIn(text: string): number | undefined {
  return firstNumber(text.slice(0, MAX_SEARCHED));
}

/** The number must have changed, so that other changes beside it do not alert again. */
function meetsNumber(
  { above, below, changed_by }: NonNullable<Conditions['number']>,
  from: number | undefined,
  to: number | undefined,
): boolean {
  if (to === undefined || to === from) return false;
  return (
    (above === undefined || to > above) &&
    (below === undefined || to < below) &&
    (changed_by === undefined || (from !== undefined && isAtLeast(Math.abs(to - from), changed_by)))
  );
}

/** From 0.1 to 0.3 are 0.2, although the difference of the binary fractions is less. */
function isAtLeast(difference: number, least: number): boolean {
  return difference >= least * (1 - Number.EPSILON * 8);
}

const NUMBER =
  /(?<![\p{L}\p{N}.,])(?<sign>[+−-]?)(?:\p{Sc}\s?)?(?<digits>\d+(?:(?:[.,'’]|[\u0020\u00a0\u2009\u202f](?=\d{3}(?!\d)))\d+)*)/u;

/**
 * Returns the first number of a text. The last of several different separators is that of the decimals. One that repeats,
 * a space and an apostrophe separate thousands, and so does a single comma before exactly three digits.
 */
export function firstNumber(text: string): number | undefined {
  const found = NUMBER.exec(text)?.groups;
  if (!found?.digits) return undefined;
  const digits = found.digits.replace(/[^\d.,]/g, '');
  const points = digits.replace(/\d/g, '');
  const last = points.at(-1) ?? '';
  const isRepeated = points.length > 1 && !points.includes(last === '.' ? ',' : '.');
  const isThousand = last === ',' && points.length === 1 && /^[1-9]\d{0,2},\d{3}$/.test(digits);
  const at = isRepeated || isThousand ? -1 : digits.lastIndexOf(last || ' ');
  const [whole, decimals] = at === -1 ? [digits, ''] : [digits.slice(0, at), digits.slice(at + 1)];
  const value = Number(`${whole.replace(/\D/g, '')}.${decimals || '0'}`);
  return found.sign === '-' || found.sign === '−' ? -value : value;
}

function hasNewMatch(pattern: RE2JS, from: string, to: string): boolean {
  const known = new Set(matchesOf(pattern, from));
  for (const match of matchesOf(pattern, to)) if (!known.has(match)) return true;
  return false;
}

function* matchesOf(pattern: RE2JS, text: string): Generator<string> {
  const matcher = pattern.matcher(text);
  for (let count = 0; count < MAX_MATCHES && matcher.find(); count += 1) yield matcher.group() ?? '';
}

function arrives(words: readonly string[], from: string, to: string): boolean {
  return preparedWords(words).some((word) => occursIn([word], to) && !occursIn([word], from));
}
