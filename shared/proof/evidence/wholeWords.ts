/*
 * Whether a quotation begins and ends where a word or a number of the text does. *We can* is not what *We cannot* says, nor is
 * 250 euros what 1 250 euros are. In doubt, a word or a number goes on: then the words are only claimed.
 */

/** A place in a text, in its normal form, with a piece of what is on either side. */
export interface Place {
  before: string;
  after: string;
  /** The white space at that place as it was written; undefined if there is none. */
  space: string | undefined;
  /** Whether one side is raised or lowered, and the other is not. */
  isShifted: boolean;
  /** Whether the last character before, or the first after, is a dash between words, which has the form of a hyphen. */
  isAtDash: boolean;
}

const MARK = /^\p{M}/u;
const ENDS_IN_WORD = /[\p{L}\p{N}\p{M}]$/u;
const BEGINS_IN_WORD = /^[\p{L}\p{N}]/u;
const ENDS_IN_LETTER = /\p{L}\p{M}*$/u;
const ENDS_IN_DIGIT = /\p{Nd}$/u;
const BEGINS_IN_DIGIT = /^\p{Nd}/u;

/** In these scripts, no white space is between words, so a word may end after any letter. */
const UNSPACED = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}]`;
const ENDS_UNSPACED = new RegExp(`${UNSPACED}$`, 'u');
const BEGINS_UNSPACED = new RegExp(`^${UNSPACED}`, 'u');
const NUMERAL = String.raw`[\p{Nd}〇零一二三四五六七八九十百千万萬亿億兆]`;
const ENDS_IN_NUMERAL = new RegExp(`${NUMERAL}$`, 'u');
const BEGINS_IN_NUMERAL = new RegExp(`^${NUMERAL}`, 'u');

/** Between two digits, these belong to one number, time, date or fraction. */
const JOINT = String.raw`[.,'·‧⋅:/⁄∕^_\u02d9\u066b\u066c]`;
const ENDS_IN_JOINT = new RegExp(String.raw`\p{Nd}${JOINT}$`, 'u');
const BEGINS_IN_JOINT = new RegExp(String.raw`^${JOINT}\p{Nd}`, 'u');
/** What multiplies a number by a power of ten. */
const BEGINS_IN_POWER = /^[×·⋅*x] ?10[\^⁰¹²³⁴-⁹⁻]/u;
const ENDS_BEFORE_POWER = /\p{Nd} ?[×·⋅*x]$/u;
const POWER = /^10[\^⁰¹²³⁴-⁹⁻]/u;

const AMOUNT = /^\p{Sc}?[.,]?\p{Nd}/u;
/** The point of a number that has no digit before it. */
const POINT = /(?:^|[\s([{\p{Sc}±+<>=≈~-])[.,]$/u;
/** A hyphen before a number is a minus, if it is after nothing that a range could begin with. */
const MINUS = /(?:^|[^\p{L}\p{N}%‰°)\]"'-])-\p{Sc}?$/u;
const SIGN = /[−±∓] ?\p{Sc}?$/u;

/** What divides the groups of digits in one number, and is no white space between words. */
const GROUP_SPACE = /^[\u00a0\u2004-\u200a\u202f\u205f]$/;
const ENDS_IN_GROUP = /(?:^|[^\p{Nd}.,])\p{Nd}{1,3}(?: \p{Nd}{3})*$/u;
const BEGINS_IN_GROUP = /^\p{Nd}{3}(?!\p{Nd})/u;

/**
 * Whether a word and a number end at a place for certain: at an end of the text or of a block, at white space or punctuation as
 * people write it, or between letters of a script without white space. Anything else may be a part of the word: a sign, a
 * character without width, an escape.
 *
 * @param breaks white space that divides words and numbers for certain
 */
export function isWordEnd(place: Place, breaks?: RegExp): boolean {
  const { before, after, space } = place;
  if (before === '' || after === '') return true;
  const isAtBreak = space !== undefined && breaks?.test(space) === true;
  if (!isAtBreak && !isAtOrdinaryEnd(place)) return false;
  return !MARK.test(after) && !isInWord(place) && !isInNumber(place, isAtBreak);
}

const WORD_OR_PUNCTUATION = String.raw`[\p{L}\p{N}\p{M}\p{Sc}.,;:!?…'"()[\]{}«»%‰°§•]`;
const ENDS_ORDINARY = new RegExp(`${WORD_OR_PUNCTUATION}$`, 'u');
const BEGINS_ORDINARY = new RegExp(`^${WORD_OR_PUNCTUATION}`, 'u');
/** Dashes between words, with white space. Before a number, one may be a minus. */
const ENDS_IN_DASH = /(?:^|[\s\p{L}\p{N}\p{P}])-$/u;
const BEGINS_IN_DASH = /^-(?:$| |\p{L}|")/u;
const CLOSING = /^[.,;:!?…)\]}"'»%‰°]+(?:$| |-)|^"[,:}\]]|^[%‰°\p{Sc}](?![\p{L}\p{N}])/u;
const OPENING = /(?:^|[\s\-:,=([{])["'([{«¿¡#@]*(?:["'([{«¿¡#@]|\p{Sc})$/u;
const ELISION = /\p{L}'$/u;
const ENDS_IN_RANGE = /[\p{L}\p{N}%‰°)]-$/u;
const BEGINS_IN_RANGE = /^-[\p{L}\p{N}\p{Sc}("']/u;

function isAtOrdinaryEnd(place: Place): boolean {
  const { before, after, space } = place;
  if (space === undefined) return isAtPunctuation(place);
  const isBefore = ENDS_ORDINARY.test(before) || (ENDS_IN_DASH.test(before) && !AMOUNT.test(after));
  return isBefore && (BEGINS_ORDINARY.test(after) || BEGINS_IN_DASH.test(after));
}

function isAtPunctuation(place: Place): boolean {
  const { before, after } = place;
  if (before.endsWith('\\') || after.startsWith('\\')) return false;
  const [isAfterWord, isBeforeWord] = [ENDS_IN_WORD.test(before), BEGINS_IN_WORD.test(after)];
  if (ENDS_UNSPACED.test(before.replace(/\p{M}+$/u, '')) || BEGINS_UNSPACED.test(after)) return true;
  // What is raised behind a number may be its power. The number of a note is no part of the word.
  if (place.isShifted && ENDS_IN_DIGIT.test(before) && !CLOSING.test(after)) return false;
  if (isAfterWord && isBeforeWord) return place.isShifted && BEGINS_IN_DIGIT.test(after);
  if (isAfterWord) return place.isAtDash || BEGINS_IN_RANGE.test(after) || CLOSING.test(after);
  if (isBeforeWord) return place.isAtDash || isWordBegun(before, after);
  return true;
}

function isWordBegun(before: string, after: string): boolean {
  const isAfterElision = ELISION.test(before) && /^\p{L}/u.test(after);
  return isAfterElision || ENDS_IN_RANGE.test(before) || OPENING.test(before);
}

function isInWord({ before, after, space, isShifted, isAtDash }: Place): boolean {
  if (space !== undefined) return false;
  if (ENDS_IN_WORD.test(before) && BEGINS_IN_WORD.test(after)) {
    if (ENDS_IN_NUMERAL.test(before) && BEGINS_IN_NUMERAL.test(after)) return true;
    if (ENDS_UNSPACED.test(before.replace(/\p{M}+$/u, '')) || BEGINS_UNSPACED.test(after)) return false;
    // The number of a note is no part of the word.
    return !(isShifted && ENDS_IN_DIGIT.test(before) !== BEGINS_IN_DIGIT.test(after));
  }
  // After an apostrophe, another word may begin (l’homme). Before one, the word goes on (can’t).
  if (ENDS_IN_WORD.test(before) && /^'\p{L}/u.test(after)) return true;
  if (isAtDash) return false;
  const ended = /^(.*\P{M})\p{M}*[-_־]$/su.exec(before)?.[1];
  if (ended !== undefined && ENDS_IN_WORD.test(ended) && BEGINS_IN_WORD.test(after))
    return ENDS_IN_LETTER.test(ended) || /^\p{L}/u.test(after);
  return ENDS_IN_LETTER.test(before)
    ? /^[-_־][\p{L}\p{N}]/u.test(after)
    : ENDS_IN_WORD.test(before) && /^[-_־]\p{L}/u.test(after);
}

function isInNumber(place: Place, isAtBreak: boolean): boolean {
  const { before, after, space } = place;
  return (
    (AMOUNT.test(after) && SIGN.test(before)) ||
    (ENDS_IN_DIGIT.test(before) && BEGINS_IN_POWER.test(after)) ||
    (ENDS_BEFORE_POWER.test(before) && POWER.test(after)) ||
    (space === undefined ? isWithinDigits(place) : !isAtBreak && isBetweenGroups(place))
  );
}

function isWithinDigits({ before, after }: Place): boolean {
  return (
    (ENDS_IN_DIGIT.test(before) && BEGINS_IN_JOINT.test(after)) ||
    (BEGINS_IN_DIGIT.test(after) && (ENDS_IN_JOINT.test(before) || POINT.test(before))) ||
    (AMOUNT.test(after) && MINUS.test(before))
  );
}

function isBetweenGroups({ before, after, space = '' }: Place): boolean {
  // 2 ½ is one number.
  if (ENDS_IN_DIGIT.test(before) && /^\p{No}/u.test(after)) return true;
  if (!ENDS_IN_DIGIT.test(before) || !BEGINS_IN_DIGIT.test(after)) return false;
  return (
    GROUP_SPACE.test(space) ||
    (/^[ \t\n\r\f]+$/.test(space) && ENDS_IN_GROUP.test(before) && BEGINS_IN_GROUP.test(after))
  );
}
