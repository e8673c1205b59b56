import { Tokenizer } from 'htmlparser2';
import type { Passage } from '../../findings/finding.ts';
import { type NormalText, normalTextOf } from '../../findings/normalText.ts';
import { charsetInHtml } from '../../values/htmlCharset.ts';

/*
 * Whether the words of a quotation are in the bytes of an object, read without the node's own extractor. The two do not make
 * the same text of markup. So words are also found if white space, the marks of lists and raised digits are left aside, or what
 * browsers hide or show is. But then they can say something else than the bytes, and are not found exactly.
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
  const source = decode(bytes, mediaType);
  let loose: SeenPassage | undefined;
  for (const { text, words, isLoose = false } of readings(source, kind, passage.exact)) {
    const seen = find(text, { ...passage, exact: words });
    if (seen?.isExact && !isLoose) return { text, ...seen };
    if (seen) loose ??= { text, ...seen, isExact: false };
  }
  return loose ?? 'absent';
}

type Kind = 'markup' | 'xml' | 'table' | 'text' | 'other';

function kindOf(bytes: Uint8Array, mediaType: string): Kind {
  const beginning = new TextDecoder('latin1').decode(bytes.subarray(0, 1_024));
  // A server may say that a PDF is text.
  if (beginning.startsWith('%PDF')) return 'other';
  if (/html/i.test(mediaType)) return 'markup';
  if (/xml/i.test(mediaType)) return 'xml';
  if (/csv|(?:comma|tab)-separated/i.test(mediaType)) return 'table';
  if (/^text\/|json|yaml|javascript/i.test(mediaType)) return 'text';
  if (!/octet-stream|^$/i.test(mediaType) || beginning.includes('\0')) return 'other';
  if (/<(!doctype|html|head|body)\b/i.test(beginning)) return 'markup';
  return /^\s*<\?xml\b/i.test(beginning) ? 'xml' : 'text';
}

/** A way in which a text and the quoted words are read. */
interface Reading {
  text: string;
  words: string;
  isLoose?: boolean;
}

/** Stands before each item of a list that has no numbers. */
const ITEM = '•';

/** Yields the ways in which a text and the quoted words are read, the strictest first. */
function* readings(source: string, kind: Kind, words: string): Generator<Reading> {
  if (kind === 'markup' || kind === 'xml') {
    // The node's text marks such items with the sign that is a minus before a number.
    const marked = words.replace(/^[^\S\n]*-\s+(?!\d)/gm, `\n${ITEM} `);
    const shown = textOfMarkup(source, kind === 'xml' ? OF_XML : AS_SHOWN);
    yield { text: shown, words: marked };
    if (marked !== words) yield { text: shown, words };
    const unmarked = words.replace(/^[^\S\n]*(?:-|\d+\.|[a-z]{1,5}\.)\s+/gim, '');
    for (const hidden of [HIDDEN, CODE]) {
      const text = textOfMarkup(source, { hidden, isApart: (name) => !INLINE.has(name), hasMarks: false });
      yield { text, words, isLoose: true };
      yield { text, words: unmarked, isLoose: true };
    }
  }
  if (kind === 'table') for (const delimiter of ',;\t|') yield { text: cellsOf(source, delimiter), words };
  yield { text: source, words, isLoose: kind === 'markup' || kind === 'xml' };
  // The node may read a table in another way. The words of its cells are the same.
  if (kind === 'table') {
    const [text, cells] = [source, words].map((each) => each.replace(/[",;|\t]/g, ' ')) as [string, string];
    yield { text, words: cells, isLoose: true };
  }
}

/** Returns the text of CSV (RFC 4180) with a tab between cells, as the node's text has it. */
function cellsOf(csv: string, delimiter: string): string {
  const between = `[${delimiter}\r\n]`;
  const cellOrDelimiter = new RegExp(`(?<=^|${between})"((?:[^"]|"")*)"(?=${between}|$)|[${delimiter}]`, 'g');
  return csv.replace(cellOrDelimiter, (_, cell?: string) => cell?.replaceAll('""', '"') ?? '\t');
}

const setOf = (names: string) => new Set(names.split(' '));
const CODE = setOf('script style');
const HIDDEN = setOf('script style template noscript svg iframe object canvas textarea title');
const INLINE = setOf(
  'a abbr b bdi bdo cite code del em font i img ins kbd label mark q s samp small span strong sub sup time u var wbr',
);

/** How markup is read. */
interface MarkupReading {
  /** The elements whose text is left out. */
  hidden: ReadonlySet<string>;
  /** Whether there is white space before and after an element. */
  isApart: (name: string) => boolean;
  /** Whether lists and raised digits are read as a browser shows them: with marks, and 10² is not 102. */
  hasMarks: boolean;
}

/** What browsers begin on a new line or in a new cell. */
const APART = setOf(
  'address article aside blockquote body br caption center col colgroup dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol optgroup option p pre search section summary table tbody td tfoot th thead tr ul',
);
const AS_SHOWN: MarkupReading = {
  hidden: setOf('script style template noscript iframe canvas datalist audio video title'),
  isApart: (name) => APART.has(name),
  hasMarks: true,
};
/** Elements of XML are whatever somebody made them. */
const OF_XML: MarkupReading = { hidden: new Set(), isApart: () => true, hasMarks: false };

/** The marks of the items in the lists that are open. */
class ListMarks {
  readonly #open: { next: number | undefined }[] = [];

  /** @param attributes of the element; a list with other numbers than 1, 2, 3 … has none here */
  begin(name: string, attributes: ReadonlySet<string>): string {
    if (name === 'ul' || name === 'menu' || name === 'ol')
      this.#open.push({ next: name === 'ol' && attributes.size === 0 ? 1 : undefined });
    const list = this.#open.at(-1);
    if (name !== 'li') return '';
    if (list?.next === undefined || attributes.has('value')) return `${ITEM} `;
    return `${list.next++}. `;
  }

  end(name: string): void {
    if (name === 'ul' || name === 'menu' || name === 'ol') this.#open.pop();
  }
}

/** Raised and lowered text. */
const SHIFTED = setOf('sub sup');
/** Attributes that change the numbers of a list. */
const NUMBERING = setOf('start reversed type value');

/** Returns the character data of HTML or XML, with what images say of themselves. Uses no tree, so no nesting is too deep. */
function textOfMarkup(source: string, { hidden, isApart, hasMarks }: MarkupReading): string {
  let text = '';
  let name = '';
  let attribute = '';
  /** The hidden element that is open, and how often. */
  let closed = '';
  let depth = 0;
  const marks = new ListMarks();
  const numbering = new Set<string>();
  /** Whether what follows is raised or lowered, or no longer is. Digits at that place are of two numbers. */
  let isShifted = false;
  const put = (part: string) => {
    if (depth > 0 || part === '') return;
    if (isShifted && hasMarks && /\d$/.test(text) && /^\d/.test(part)) text += ' ';
    isShifted = false;
    text += part;
  };
  const opened = () => {
    const mark = marks.begin(name, numbering);
    if (hasMarks) put(mark);
  };
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => put(source.slice(start, end)),
      ontextentity: (codePoint) => put(String.fromCodePoint(codePoint)),
      onopentagname(start, end) {
        name = source.slice(start, end).toLowerCase();
        numbering.clear();
        if (isApart(name)) put('\n');
        isShifted ||= SHIFTED.has(name);
      },
      onopentagend() {
        if (depth === 0 && hidden.has(name)) closed = name;
        if (name === closed) depth += 1;
        opened();
      },
      onselfclosingtag: opened,
      onclosetag(start, end) {
        const closing = source.slice(start, end).toLowerCase();
        if (depth > 0 && closing === closed) depth -= 1;
        if (depth === 0) closed = '';
        marks.end(closing);
        if (isApart(closing)) put('\n');
        isShifted ||= SHIFTED.has(closing);
      },
      onattribname(start, end) {
        attribute = source.slice(start, end).toLowerCase();
        if (NUMBERING.has(attribute)) numbering.add(attribute);
      },
      onattribdata(start, end) {
        if (name === 'img' && attribute === 'alt') put(source.slice(start, end));
      },
      onattribentity(codePoint) {
        if (name === 'img' && attribute === 'alt') put(String.fromCodePoint(codePoint));
      },
      onattribend() {},
      oncdata: (start, end, offset) => put(source.slice(start, end - offset)),
      oncomment() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend() {},
    },
  );
  tokenizer.write(source);
  tokenizer.end();
  return text;
}

/** A text without white space, and where there was some. */
class Spaceless {
  readonly characters: string;
  readonly #normal: NormalText;
  /** The place in the normal text of each UTF-16 unit. */
  readonly #places: Uint32Array;

  constructor(text: string) {
    this.#normal = normalTextOf(text, true);
    const { text: normal } = this.#normal;
    this.characters = normal.replaceAll(' ', '');
    this.#places = new Uint32Array(this.characters.length);
    let next = 0;
    for (let at = 0; at < normal.length; at += 1) if (normal[at] !== ' ') this.#places[next++] = at;
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
const MARK = /\p{M}/u;

/** Whether both have white space at the same places between letters and digits. Elsewhere it changes no word and no number. */
function hasSameSpaces(text: Spaceless, at: number, words: Spaceless): boolean {
  const { characters } = words;
  for (let place = 1; place < characters.length; place += 1) {
    if (text.isAfterSpace(at + place) === words.isAfterSpace(place)) continue;
    if (IN_WORD.test(characters[place - 1] ?? '') && IN_WORD.test(characters[place] ?? '')) return false;
  }
  return true;
}

const DIGIT = /\p{Nd}/u;

/** Whether a number at the beginning or the end of the words goes on before or behind them, or has a minus there. */
function cutsNumber(text: Spaceless, at: number, length: number): boolean {
  const isDigit = (place: number) => DIGIT.test(text.characters[place] ?? '');
  const isPoint = (place: number) => /[.,]/.test(text.characters[place] ?? '');
  const end = at + length;
  const isCutBefore =
    isDigit(at) &&
    at > 0 &&
    !text.isAfterSpace(at) &&
    (isDigit(at - 1) ||
      (isPoint(at - 1) && !text.isAfterSpace(at - 1) && isDigit(at - 2)) ||
      (text.characters[at - 1] === '-' && (at === 1 || text.isAfterSpace(at - 1))));
  const isCutBehind =
    isDigit(end - 1) &&
    !text.isAfterSpace(end) &&
    (isDigit(end) || (isPoint(end) && !text.isAfterSpace(end + 1) && isDigit(end + 1)));
  return isCutBefore || isCutBehind;
}

/** Returns the range of words in a text; of several, one that is exact, and of these the one with the most of the context around it. */
function find(
  source: string,
  { exact, prefix, suffix }: Pick<Passage, 'exact' | 'prefix' | 'suffix'>,
): { start: number; end: number; isExact: boolean } | undefined {
  const text = new Spaceless(source);
  const words = new Spaceless(exact);
  const { characters: all } = text;
  const { length } = words.characters;
  const around = [prefix.slice(-MAX_CONTEXT), suffix.slice(0, MAX_CONTEXT)];
  const [before, after] = around.map((part) => new Spaceless(part).characters) as [string, string];
  if (length === 0) return undefined;
  let best: { at: number; context: number; isExact: boolean } | undefined;
  for (
    let at = all.indexOf(words.characters), seen = 0;
    at >= 0 && seen < 500;
    at = all.indexOf(words.characters, at + 1), seen += 1
  ) {
    let context = 0;
    while (context < before.length && all[at - 1 - context] === before[before.length - 1 - context])
      context += 1;
    const end = at + length;
    for (let follows = 0; follows < after.length && all[end + follows] === after[follows]; follows += 1)
      context += 1;
    // A letter with a mark, such as one that strikes it through, is another one.
    const isWhole = !MARK.test(all[end] ?? '') && !cutsNumber(text, at, length);
    const isExact = isWhole && hasSameSpaces(text, at, words);
    const isBetter = !best || (isExact === best.isExact ? context > best.context : isExact);
    if (isBetter) best = { at, context, isExact };
  }
  return best && { ...text.rangeOf(best.at, length), isExact: best.isExact };
}

/** Decodes text like a browser: the byte order mark, the charset of the media type, what the document declares, UTF-8. */
function decode(bytes: Uint8Array, mediaType: string): string {
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
