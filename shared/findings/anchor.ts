import type { Passage } from './finding.ts';
import { type NormalText, normalTextOf } from './normalText.ts';

/*
 * Where a quoted passage is in a text: when it is first quoted (`locatePassage`), and again in a text that may differ
 * (`anchorPassage`), because the page changed or another extractor made the text. A wrong place is worse than none: where
 * the text leaves a choice, there is no place.
 */

/** How many characters before and after a passage are kept to find it again. */
export const CONTEXT_CHARACTERS = 32;

/** A passage as it occurs in a text. Positions count Unicode code points, as the Web Annotation model requires. */
export interface LocatedPassage {
  exact: string;
  prefix: string;
  suffix: string;
  start: number;
  end: number;
  page: number | null;
  /** Whether these words occur once in the text, white space and the like aside. */
  words_once: boolean;
  /** Whether the text has one place only between what precedes and what follows the words. */
  context_once: boolean;
}

/** What is known of a quotation before it is located. */
export type Quotation = Pick<Passage, 'exact' | 'prefix' | 'suffix' | 'start' | 'end'>;

/**
 * Locates a quotation in the text that it was taken from: where its position says, else where its words are. Returns
 * undefined if the text does not have it, or has it at several places that its context does not tell apart.
 *
 * @param hasPages whether form feeds separate pages
 */
export function locatePassage(
  text: string,
  quotation: Quotation,
  hasPages: boolean,
): LocatedPassage | undefined {
  const atPosition = unitsAt(text, quotation);
  if (atPosition) return describe(text, atPosition, hasPages);
  const normal = normalTextOf(text, true);
  const sought = soughtIn(quotation, true);
  const places = occurrences(normal, sought.words, undefined).map((start) => placeAt(normal, sought, start));
  const best = Math.max(...places.map(({ before, after }) => before + after));
  const [place, ...others] = places.filter(({ before, after }) => before + after === best);
  if (!place || others.length > 0) return undefined;
  return describe(text, rangeOf(normal, place), hasPages);
}

/** Returns how often a text has these words, white space and the like aside, and where first, in code points. */
export function findWords(
  text: string,
  exact: string,
): { count: number; first: { start: number; end: number } | undefined } {
  const normal = normalTextOf(text, true);
  const { words } = soughtIn({ exact, prefix: '', suffix: '' }, true);
  const starts = occurrences(normal, words, undefined);
  const [at] = starts;
  if (at === undefined) return { count: 0, first: undefined };
  const range = rangeOf(normal, { start: at, end: at + words.length });
  const start = codePoints(text.slice(0, range.start));
  const end = start + codePoints(text.slice(range.start, range.end));
  return { count: starts.length, first: { start, end } };
}

/** Where a passage is in a text, in code points, and the words that the text has there. */
export interface Anchor {
  start: number;
  end: number;
  exact: string;
  /** Whether these are the quoted words, white space and the like aside; else they were changed. */
  same_words: boolean;
}

/** `absent`: the text does not have it. `unclear`: it has the words, but not at a place that is surely the quoted one. */
export type Anchoring = Anchor | 'absent' | 'unclear';

/**
 * Finds a passage in another text than it was quoted from: its words with what was around them, or what is now between
 * that. Only what the record proves unmistakable is found: see `LocatedPassage`.
 */
export function anchorPassage(text: string, passage: Passage): Anchoring {
  const joined = anchorIn(text, passage, true);
  if (joined !== 'absent' && !(typeof joined === 'object' && !joined.same_words)) return joined;
  if (!/[-\u2010]\s*\n/u.test(text + passage.exact)) return joined;
  // A hyphen at the end of a line may belong to the word.
  const apart = anchorIn(text, passage, false);
  return typeof apart === 'object' && apart.same_words ? apart : joined;
}

function anchorIn(text: string, passage: Passage, joinsWords: boolean): Anchoring {
  const normal = normalTextOf(text, joinsWords);
  const sought = soughtIn(passage, joinsWords);
  // Without a record of what was unmistakable, nothing is.
  const { words_once = false, context_once = false } = passage.derived ?? {};
  const found = occurrences(normal, sought.words, sought).map((start) => placeAt(normal, sought, start));
  const whole = found.filter(({ hasAllBefore, hasAllAfter }) => hasAllBefore && hasAllAfter);
  const frames = context_once ? framesOf(normal, sought) : [];
  const likely = words_once && found.length === 1 ? found.filter(isLikely(normal, sought)) : [];
  const [only] = whole.length > 0 ? whole : likely;
  if (only) {
    const isSure = (words_once || context_once) && !hasRival(only, { found, frames, sought });
    return isSure ? anchorOf(text, normal, only, true) : 'unclear';
  }
  const [frame, ...twins] = frames;
  const isElsewhere = words_once ? found.length > 0 : found.some(isNear);
  if (frame && twins.length === 0 && !isElsewhere && isAlike(sought, normal, frame))
    return anchorOf(text, normal, frame, false);
  return found.length > 0 || twins.length > 0 ? 'unclear' : 'absent';
}

/** Whether another place may be the passage: with all of the context, or a changed one within or around it. */
function hasRival(
  only: Place,
  { found, frames, sought }: { found: readonly Place[]; frames: readonly Range[]; sought: Sought },
): boolean {
  const context = sought.before.length + sought.after.length;
  const isWholeToo = (place: Place) =>
    place !== only && ((place.hasAllBefore && place.hasAllAfter) || place.before + place.after === context);
  const isRivalFrame = (frame: Range) =>
    !overlap(frame, only) || lengthOf(frame) > lengthOf(only) + MAX_GROWTH;
  return found.some(isWholeToo) || frames.some(isRivalFrame);
}

interface Range {
  start: number;
  end: number;
}

/** Where the words are, with how much of what precedes and follows them is the same, and whether that is all of it. */
interface Place extends Range {
  before: number;
  after: number;
  hasAllBefore: boolean;
  hasAllAfter: boolean;
}

/** A quotation in the form in which it is compared. */
interface Sought {
  words: string;
  before: string;
  after: string;
  /** Whether the context is too short to say something, because the text begins before it or ends after it. */
  beginsText: boolean;
  endsText: boolean;
  /** Whether the quotation begins or ends within a word. */
  beginsInWord: boolean;
  endsInWord: boolean;
}

function soughtIn(
  { exact, prefix, suffix, ...rest }: Pick<Passage, 'exact' | 'prefix' | 'suffix'> & Partial<Passage>,
  joinsWords: boolean,
): Sought {
  const { text, starts, ends } = normalTextOf(prefix + exact + suffix, joinsWords);
  let start = 0;
  while (start < text.length && (starts[start] ?? 0) < prefix.length) start += 1;
  let end = text.length;
  while (end > start && (ends[end - 1] ?? 0) > prefix.length + exact.length) end -= 1;
  if (text[start] === ' ') start += 1;
  if (text[end - 1] === ' ') end -= 1;
  const isMade = rest.derived !== undefined;
  return {
    words: text.slice(start, end),
    before: text.slice(0, start),
    after: text.slice(end),
    beginsText: isMade && start < MIN_CONTEXT && codePoints(prefix) < CONTEXT_CHARACTERS,
    endsText: isMade && text.length - end < MIN_CONTEXT && codePoints(suffix) < CONTEXT_CHARACTERS,
    beginsInWord: isInWord(text, start),
    endsInWord: isInWord(text, end),
  };
}

/** Scripts that write no spaces have no ends of words to hold to. */
const IN_WORD = /^[\p{L}\p{N}\p{M}]$/u;
const NO_SPACES =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]$/u;

/** Whether the characters on both sides of a place belong to one word. */
function isInWord(text: string, at: number): boolean {
  const sides = [text.charAt(at - 1), text.charAt(at)];
  return at > 0 && sides.every((side) => IN_WORD.test(side)) && !sides.some((side) => NO_SPACES.test(side));
}

/** More occurrences than this are no place. */
const MAX_OCCURRENCES = 500;

/** Returns where a text has these words: as whole words, if they are sought so. */
function occurrences({ text }: NormalText, words: string, sought: Sought | undefined): number[] {
  return placesOf(text, words).filter(
    (at) =>
      sought === undefined ||
      ((sought.beginsInWord || !isInWord(text, at)) &&
        (sought.endsInWord || !isInWord(text, at + words.length))),
  );
}

function placesOf(text: string, words: string): number[] {
  const found: number[] = [];
  if (words === '') return found;
  for (
    let at = text.indexOf(words);
    at >= 0 && found.length <= MAX_OCCURRENCES;
    at = text.indexOf(words, at + 1)
  )
    found.push(at);
  return found;
}

function placeAt({ text }: NormalText, sought: Sought, start: number): Place {
  const { words, before, after, beginsText, endsText } = sought;
  const end = start + words.length;
  let same = 0;
  while (same < before.length && text[start - 1 - same] === before[before.length - 1 - same]) same += 1;
  let follows = 0;
  while (follows < after.length && text[end + follows] === after[follows]) follows += 1;
  return {
    start,
    end,
    before: same,
    after: follows,
    hasAllBefore: beginsText ? same === before.length && start === same : isWhole(same, before),
    hasAllAfter: endsText
      ? follows === after.length && end + follows === text.length
      : isWhole(follows, after),
  };
}

/** The first character of a context may be the half of something. */
const EDGE = 1;
/** The least context that says something: 32 blanks do not. */
const MIN_CONTEXT = 12;

function isWhole(same: number, context: string): boolean {
  return context.length >= MIN_CONTEXT && same >= context.length - EDGE;
}

/** A side with so little in common is not near the quoted place. */
const isNear = ({ before, after }: Place) => before >= MIN_CONTEXT || after >= MIN_CONTEXT;

/** The share of their short sequences that two texts must have in common to be one text that was edited. */
const MIN_ALIKE = 0.5;
/** How many more characters an edited side is looked for in. */
const ROOM = 16;
/** How much of the far end of an edited side must be as it was. */
const OUTER = 10;

/** Whether one side of a place is as it was, the other looks like an edit of what was there, and nothing is elsewhere. */
function isLikely({ text }: NormalText, sought: Sought): (place: Place) => boolean {
  const { before, after } = sought;
  return (place) => {
    const { start, end, hasAllBefore, hasAllAfter } = place;
    const from = Math.max(0, start - before.length - ROOM);
    const to = end + after.length + ROOM;
    const [nowBefore, nowAfter] = [text.slice(from, start), text.slice(end, to)];
    // A copy seldom brings the far end of the context.
    const isAlikeBefore =
      nowBefore.includes(before.slice(0, OUTER)) && shareOf(before, nowBefore) >= MIN_ALIKE;
    const isAlikeAfter = nowAfter.includes(after.slice(-OUTER)) && shareOf(after, nowAfter) >= MIN_ALIKE;
    if (!(hasAllBefore && isAlikeAfter) && !(hasAllAfter && isAlikeBefore)) return false;
    return !hasTrace(text, sought, place, { start: from, end: to });
  };
}

/** How much is recognised elsewhere, and how many pieces are looked for. */
const TRACE = 14;
const MAX_TRACES = 200;

/** Whether a piece of a passage or of its context is elsewhere, too: then one is a copy, and which one is unclear. */
function hasTrace(text: string, { words, before, after }: Sought, place: Range, around: Range): boolean {
  const isOutside = (part: string, { start, end }: Range) => {
    const step = Math.ceil(part.length / MAX_TRACES);
    for (let at = 0; at + TRACE <= part.length; at += step) {
      const piece = part.slice(at, at + TRACE);
      if (text.slice(0, start).includes(piece) || text.indexOf(piece, end) >= 0) return true;
    }
    return false;
  };
  return isOutside(words, place) || isOutside(before, around) || isOutside(after, around);
}

/** In longer texts, every sequence of three letters occurs by chance. */
const MIN_LONG = 40;

/** The share of the short sequences of a text that another has, too. */
function shareOf(text: string, other: string): number {
  const length = text.length < MIN_LONG ? 3 : 8;
  const count = text.length - length + 1;
  let found = 0;
  for (let at = 0; at < count; at += 1) if (other.includes(text.slice(at, at + length))) found += 1;
  return count < 1 ? 0 : found / count;
}

/** How much longer or shorter a changed passage may be. */
function longest(words: string): number {
  return 2 * words.length + 32;
}

/** The most beginnings of frames that are looked at. */
const MAX_FRAMES = 50;

/**
 * Returns the places between what preceded and what followed the words, nearest to them. There are none if that is too short
 * to say something.
 */
function framesOf({ text }: NormalText, { words, before, after, beginsText, endsText }: Sought): Range[] {
  const opening = before.slice(EDGE);
  const closing = after.slice(0, Math.max(0, after.length - EDGE));
  const isShort =
    (!beginsText && opening.length < MIN_CONTEXT) || (!endsText && closing.length < MIN_CONTEXT);
  if (isShort) return [];
  const frames: Range[] = [];
  const starts = beginsText
    ? text.startsWith(before)
      ? [before.length]
      : []
    : placesOf(text, opening).map((at) => at + opening.length);
  for (const start of starts.slice(0, MAX_FRAMES)) {
    const limit = start + longest(words);
    if (endsText) {
      const end = text.length - after.length;
      if (text.endsWith(after) && end > start && end <= limit) frames.push({ start, end });
      continue;
    }
    for (
      let end = text.indexOf(closing, start);
      end >= 0 && end <= limit;
      end = text.indexOf(closing, end + 1)
    )
      if (end > start) frames.push({ start, end });
  }
  return starts.length > MAX_FRAMES ? [] : frames;
}

/** A few characters say nothing about likeness: what is around them must do. */
const MIN_COMPARED = 8;
/** By how much a passage may grow, about a word, before its ends must be seen to be the old ones. */
const MAX_GROWTH = 12;
const KNOWN_END = 24;

/** Whether what is at the place of a passage is the passage, edited, and nothing that was put in before or after it. */
function isAlike({ words }: Sought, { text }: NormalText, { start, end }: Range): boolean {
  const now = text.slice(start, end);
  const hasItsEnds =
    words.length >= 2 * KNOWN_END &&
    now.startsWith(words.slice(0, KNOWN_END)) &&
    !now.includes(words.slice(0, KNOWN_END), 1) &&
    now.endsWith(words.slice(-KNOWN_END));
  if (now.length > words.length + MAX_GROWTH && !hasItsEnds) return false;
  return words.length < MIN_COMPARED || shareOf(words, now) >= MIN_ALIKE || shareOf(now, words) >= MIN_ALIKE;
}

function lengthOf({ start, end }: Range): number {
  return end - start;
}

function overlap(one: Range, other: Range): boolean {
  return one.start < other.end && other.start < one.end;
}

function anchorOf(text: string, normal: NormalText, place: Range, same_words: boolean): Anchor {
  const { start, end } = rangeOf(normal, place);
  const exact = text.slice(start, end);
  const from = codePoints(text.slice(0, start));
  return { start: from, end: from + codePoints(exact), exact, same_words };
}

/** Returns the range of a place in the original text, without the white space at its ends. */
function rangeOf({ text, starts, ends }: NormalText, place: Range): Range {
  let { start, end } = place;
  if (text[start] === ' ') start += 1;
  if (text[end - 1] === ' ') end -= 1;
  return { start: starts[start] ?? 0, end: ends[end - 1] ?? 0 };
}

/** Returns the range of a quotation whose position is right. */
function unitsAt(text: string, { exact, start, end }: Quotation): Range | undefined {
  if (start === null || end === null) return undefined;
  const from = unitOf(text, start);
  return text.startsWith(exact, from) && codePoints(exact) === end - start
    ? { start: from, end: from + exact.length }
    : undefined;
}

/** Returns the UTF-16 unit at which a code point begins. */
function unitOf(text: string, codePoint: number): number {
  let unit = 0;
  for (let left = codePoint; left > 0 && unit < text.length; left -= 1)
    unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
  return unit;
}

function describe(text: string, { start, end }: Range, hasPages: boolean): LocatedPassage {
  const exact = text.slice(start, end);
  const before = text.slice(0, start);
  const prefix = Array.from(before.slice(-2 * CONTEXT_CHARACTERS))
    .slice(-CONTEXT_CHARACTERS)
    .join('');
  const suffix = Array.from(text.slice(end, end + 2 * CONTEXT_CHARACTERS))
    .slice(0, CONTEXT_CHARACTERS)
    .join('');
  const normal = normalTextOf(text, true);
  const none = { sha256: null, start: null, end: null, page: null };
  const derived = { tool: '', version: '', text: '', words_once: true, context_once: true };
  const sought = soughtIn({ ...none, exact, prefix, suffix, derived }, true);
  const from = codePoints(before);
  return {
    exact,
    prefix,
    suffix,
    start: from,
    end: from + codePoints(exact),
    page: hasPages ? before.split('\f').length : null,
    words_once: occurrences(normal, sought.words, sought).length === 1,
    context_once: framesOf(normal, sought).length === 1,
  };
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
