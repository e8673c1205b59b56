import type { Passage } from '../../findings/finding.ts';
import { type NormalText, normalTextOf } from '../../findings/normalText.ts';
import { charsetInHtml } from '../../values/htmlCharset.ts';
import { ITEM, looseTexts, shownText } from './shownText.ts';
import { isWordEnd, type Place } from './wholeWords.ts';

/*
 * Whether the words of a quotation are in the bytes of an object, read without the node's own extractor. The two do not make
 * the same text of markup. So words are also found if white space, the marks of lists, raised digits and the ends of words are left
 * aside, or what browsers hide or show is. But then they can say something else than the bytes, and are not found exactly.
 */

/** A text that was read from bytes, with the range of the quoted words in it (UTF-16 units). */
export interface SeenPassage {
  text: string;
  start: number;
  end: number;
  /** Whether a reader of the bytes sees these words, also where they begin and end. */
  isExact: boolean;
}

/** In larger objects, no words are looked for. */
export const MAX_SEEN_BYTES = 2_000_000;
/** Nor are more words: a node takes 10,000 characters, and records them with the white space of its text. */
const MAX_WORDS = 50_000;
/** How much of what surrounds the words is compared. A node records less. */
const MAX_CONTEXT = 1_000;

/** Finds quoted words in bytes. `unreadable`: bytes of this type or size cannot be read as text here. */
export function seePassage(
  bytes: Uint8Array,
  mediaType: string,
  passage: Pick<Passage, 'exact' | 'prefix' | 'suffix'>,
): SeenPassage | 'absent' | 'unreadable' {
  const kind = kindOf(bytes, mediaType);
  if (kind === 'other' || bytes.length > MAX_SEEN_BYTES || passage.exact.length > MAX_WORDS)
    return 'unreadable';
  const source = decodedText(bytes, mediaType);
  let exact: SeenPassage | undefined;
  let loose: (SeenPassage & { isInContext: boolean }) | undefined;
  let isOnly = true;
  for (const { words, isLoose = false, ...reading } of readings(source, kind, passage.exact)) {
    const { text } = reading;
    const seen = find(reading, { ...passage, exact: words });
    if (!seen) continue;
    const { start, end, isInContext } = seen;
    const found = { text, start, end, isExact: seen.isExact && !isLoose };
    if (found.isExact && isInContext) return found;
    if (found.isExact) exact ??= found;
    if (!loose || (isInContext && !loose.isInContext)) loose = { ...found, isExact: false, isInContext };
    isOnly &&= seen.isOnly;
  }
  // Without the recorded context, they could be the same words at another place.
  return (isOnly ? exact : undefined) ?? loose ?? 'absent';
}

/** `code`: a text that has ways of its own to write words, such as a program or a calendar. */
type Kind = 'markup' | 'xml' | 'table' | 'text' | 'code' | 'other';

function kindOf(bytes: Uint8Array, mediaType: string): Kind {
  const beginning = new TextDecoder('latin1').decode(bytes.subarray(0, 1_024));
  // A server may say that a PDF is text.
  if (beginning.startsWith('%PDF')) return 'other';
  if (/xml/i.test(mediaType)) return 'xml';
  if (/html/i.test(mediaType)) return 'markup';
  if (/csv|(?:comma|tab)-separated/i.test(mediaType)) return 'table';
  if (/^\s*(?:text\/plain|application\/(?:[^;]+\+)?json)\b/i.test(mediaType)) return 'text';
  if (/^text\/|json|yaml|javascript/i.test(mediaType)) return 'code';
  if (!/octet-stream|^$/i.test(mediaType) || beginning.includes('\0')) return 'other';
  if (/<(!doctype|html|head|body)\b/i.test(beginning)) return 'markup';
  return /^\s*<\?xml\b/i.test(beginning) ? 'xml' : 'text';
}

/** A way in which a text and the quoted words are read. */
interface Reading {
  text: string;
  /** Where raised or lowered text begins or ends. */
  shifts?: ReadonlySet<number>;
  /** The length of the text that is known to be shown so. */
  known?: number;
  /** The white space that divides words and numbers for certain. */
  breaks?: RegExp;
  words: string;
  isLoose?: boolean;
}

/** Yields the ways in which a text and the quoted words are read, the strictest first. */
function* readings(source: string, kind: Kind, words: string): Generator<Reading> {
  if (kind === 'markup' || kind === 'xml') {
    // The node's text marks such items with the sign that is a minus before a number.
    const marked = words.replace(/^[^\S\n]*-\s+(?!\d)/gm, `\n${ITEM} `);
    // What shows XML is not known.
    const shown = { ...shownText(source, kind), breaks: BREAKS, isLoose: kind === 'xml' };
    yield { ...shown, words: marked };
    if (marked !== words) yield { ...shown, words };
    const unmarked = words.replace(/^[^\S\n]*(?:-|\d+\.|[a-z]{1,5}\.)\s+/gim, '');
    for (const text of looseTexts(source)) {
      yield { text, words, isLoose: true };
      yield { text, words: unmarked, isLoose: true };
    }
  }
  if (kind === 'table') {
    const own = delimiterOf(source);
    for (const delimiter of DELIMITERS) {
      const text = cellsOf(source, delimiter);
      yield { text, words, breaks: CELL_ENDS, isLoose: delimiter !== own };
    }
  }
  yield { text: source, words, isLoose: kind !== 'text' };
  // The node may read a table in another way. The words of its cells are the same.
  if (kind === 'table') {
    const [text, cells] = [source, words].map((each) => each.replace(/[",;|\t]/g, ' ')) as [string, string];
    yield { text, words: cells, isLoose: true };
  }
}

const BREAKS = /\u2029/;
const CELL_ENDS = /[\t\r\n]/;
const DELIMITERS = ',;\t|';

/** Returns what divides the cells of a table: a comma, unless its first line has something rarer outside of quotation marks. */
function delimiterOf(csv: string): string {
  const line = /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(csv.slice(0, MAX_LINE))?.[0] ?? '';
  const open = line.replace(/"(?:[^"]|"")*"/g, '');
  return ['\t', ';', '|'].find((delimiter) => open.includes(delimiter)) ?? ',';
}
/** How much of the first line of a table is looked at. */
const MAX_LINE = 10_000;

/** Returns the text of CSV (RFC 4180) with a tab between cells, as the node's text has it. */
function cellsOf(csv: string, delimiter: string): string {
  const between = `[${delimiter}\r\n]`;
  const cellOrDelimiter = new RegExp(`(?<=^|${between})"((?:[^"]|"")*)"(?=${between}|$)|[${delimiter}]`, 'g');
  return csv.replace(cellOrDelimiter, (_, cell?: string) => cell?.replaceAll('""', '"') ?? '\t');
}

/** How much of a word or a number is looked at. */
const MAX_TOKEN = 40;
/** Dashes that divide words, unlike hyphens. */
const DASH = /^[‒–—]$/;

/** A text without white space, and where there was some. */
class Spaceless {
  readonly characters: string;
  readonly #normal: NormalText;
  /** The place in the normal text of each UTF-16 unit. */
  readonly #places: Uint32Array;

  readonly #source: string;

  constructor(text: string) {
    this.#source = text;
    this.#normal = normalTextOf(text, true);
    const { text: normal } = this.#normal;
    this.characters = normal.replaceAll(' ', '');
    this.#places = new Uint32Array(this.characters.length);
    let next = 0;
    for (let at = 0; at < normal.length; at += 1) if (normal[at] !== ' ') this.#places[next++] = at;
  }

  /** Returns what is around the place before a character, or behind the last one. */
  placeAt(at: number, shifts: ReadonlySet<number>): Place {
    const { text, starts, ends } = this.#normal;
    const [from, to] = [at === 0 ? 0 : (this.#places[at - 1] ?? 0) + 1, this.#places[at] ?? text.length];
    const [end, start] = [ends[from - 1] ?? 0, to < text.length ? (starts[to] ?? 0) : this.#source.length];
    const isDash = (index: number) => DASH.test(this.#source.slice(starts[index] ?? 0, ends[index] ?? 0));
    return {
      before: text.slice(Math.max(0, from - MAX_TOKEN), from),
      after: text.slice(to, to + MAX_TOKEN),
      space: to > from ? this.#source.slice(end, start) : undefined,
      isShifted: shifts.has(end) || shifts.has(start),
      isAtDash: (from > 0 && isDash(from - 1)) || (to < text.length && isDash(to)),
    };
  }

  isAfterSpace(at: number): boolean {
    return this.#normal.text[(this.#places[at] ?? 0) - 1] === ' ';
  }

  /** Returns the range of units in the text as it was given. */
  rangeOf(at: number, length: number): { start: number; end: number } {
    const { starts, ends } = this.#normal;
    return { start: starts[this.#places[at] ?? 0] ?? 0, end: ends[this.#places[at + length - 1] ?? 0] ?? 0 };
  }
}

const IN_WORD = /[\p{L}\p{N}]/u;

/** Whether both have white space at the same places between letters and digits. Elsewhere it changes no word and no number. */
function hasSameSpaces(text: Spaceless, at: number, words: Spaceless): boolean {
  const { characters } = words;
  for (let place = 1; place < characters.length; place += 1) {
    if (text.isAfterSpace(at + place) === words.isAfterSpace(place)) continue;
    if (IN_WORD.test(characters[place - 1] ?? '') && IN_WORD.test(characters[place] ?? '')) return false;
  }
  return true;
}

interface Found {
  start: number;
  end: number;
  isExact: boolean;
  /** Whether what was recorded before and after the words is there. */
  isInContext: boolean;
  /** Whether the words are nowhere else. */
  isOnly: boolean;
}

/** How much of what was recorded on either side must be there. */
const CONTEXT = 16;

/** Returns the range of words in a text; of several, those with the most of the context around them. */
function find(
  { text: source, shifts = new Set(), known = source.length, breaks }: Omit<Reading, 'words' | 'isLoose'>,
  { exact, prefix, suffix }: Pick<Passage, 'exact' | 'prefix' | 'suffix'>,
): Found | undefined {
  const text = new Spaceless(source);
  const words = new Spaceless(exact);
  const { characters: all } = text;
  const { length } = words.characters;
  const around = [prefix.slice(-MAX_CONTEXT), suffix.slice(0, MAX_CONTEXT)];
  const [before, after] = around.map((part) => new Spaceless(part).characters) as [string, string];
  if (length === 0) return undefined;
  let best: { at: number; context: number; isExact: boolean; isInContext: boolean } | undefined;
  let seen = 0;
  for (
    let at = all.indexOf(words.characters);
    at >= 0 && seen < 500;
    at = all.indexOf(words.characters, at + 1), seen += 1
  ) {
    const end = at + length;
    let [precedes, follows] = [0, 0];
    while (precedes < before.length && all[at - 1 - precedes] === before[before.length - 1 - precedes])
      precedes += 1;
    while (follows < after.length && all[end + follows] === after[follows]) follows += 1;
    const context = precedes + follows;
    const isInContext =
      precedes >= Math.min(before.length, CONTEXT) && follows >= Math.min(after.length, CONTEXT);
    const isWhole = [at, end].every((each) => isWordEnd(text.placeAt(each, shifts), breaks));
    const isKnown = text.rangeOf(at, length).end <= known;
    const isExact = isKnown && isWhole && hasSameSpaces(text, at, words);
    const isBetter = !best || (context === best.context ? isExact && !best.isExact : context > best.context);
    if (isBetter) best = { at, context, isExact, isInContext };
  }
  if (!best) return undefined;
  const { at, isExact, isInContext } = best;
  return { ...text.rangeOf(at, length), isExact, isInContext, isOnly: seen === 1 };
}

/** Decodes text like a browser: the byte order mark, the charset of the media type, what the document declares, UTF-8. */
export function decodedText(bytes: Uint8Array, mediaType: string): string {
  const beginning = new TextDecoder('latin1').decode(bytes.subarray(0, 4_096));
  const mark = beginning.startsWith('\u00ef\u00bb\u00bf')
    ? 'utf-8'
    : beginning.startsWith('\u00ff\u00fe')
      ? 'utf-16le'
      : beginning.startsWith('\u00fe\u00ff')
        ? 'utf-16be'
        : undefined;
  const declared =
    /charset\s*=\s*["']?([^\s"';>]+)/i.exec(mediaType)?.[1] ??
    (['markup', 'xml'].includes(kindOf(bytes, mediaType)) ? charsetInHtml(bytes) : undefined) ??
    /^<\?xml[^>]+encoding\s*=\s*["']([^"']+)/i.exec(beginning)?.[1];
  for (const encoding of [mark, declared, 'utf-8']) {
    const text = encoding && tryDecode(bytes, encoding, encoding === 'utf-8' && !mark && !declared);
    if (text !== undefined && text !== '') return text;
  }
  return new TextDecoder('windows-1252').decode(bytes);
}

function tryDecode(bytes: Uint8Array, encoding: string, fatal: boolean): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal }).decode(bytes);
  } catch (error) {
    // An encoding that nobody knows, or bytes that are not UTF-8.
    if (error instanceof RangeError || error instanceof TypeError) return undefined;
    throw error;
  }
}
