import { doiIn, firstText, orcidIn } from '../fields.ts';
import {
  type Citation,
  kindOf,
  nameAndOrcid,
  type ReadCitations,
  splitKeywords,
  yearIn,
} from './citationFormats.ts';

/** What is between the braces of an entry is far smaller. */
const MAX_VALUE_CHARACTERS = 200_000;
/** How much may be read in vain: the reader goes back behind an entry that does not end. */
const MAX_WASTED_CHARACTERS = 20 * MAX_VALUE_CHARACTERS;
/** How much all uses of `@string` may add: a long one may be used in each of many entries. */
const MAX_MACRO_CHARACTERS = 20 * MAX_VALUE_CHARACTERS;
/** Entries that are named because they cannot be read. */
const MAX_NAMED = 20;

/**
 * Reads BibTeX and BibLaTeX. An entry that is written wrongly is left out and said; the others are read.
 *
 * Source: http://www.bibtex.org/Format/, and the manual of BibLaTeX for its fields
 */
export function readBibtex(text: string): ReadCitations {
  const reader = new Reader(text);
  const citations: Citation[] = [];
  const unread: number[] = [];
  for (let entry = reader.next(); entry; entry = reader.next()) {
    if (entry.fields === undefined) unread.push(entry.line);
    else citations.push(citationOf(entry.type, entry.fields));
  }
  const warnings = unread.slice(0, MAX_NAMED).map((line) => `The entry in line ${line} cannot be read.`);
  const more = unread.length - warnings.length;
  return { citations, warnings: more > 0 ? [...warnings, `Nor can ${more} others.`] : warnings };
}

interface Entry {
  type: string;
  line: number;
  /** By their names in lower case; undefined if the entry cannot be read. */
  fields: Map<string, string> | undefined;
}

const WORD = /[^\s"#%'(),={}]{1,500}/y;
const SPACE = /\s*/y;

/** Reads from the left to the right, without going back over more than one entry. */
class Reader {
  readonly #text: string;
  readonly #macros = new Map<string, string>();
  #at = 0;
  #counted = 0;
  #line = 1;
  #wasted = 0;
  #expanded = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the next entry. What is between entries is a comment. */
  next(): Entry | undefined {
    for (;;) {
      const start = this.#text.indexOf('@', this.#at);
      if (start < 0) return undefined;
      this.#at = start + 1;
      const type = this.#word().toLowerCase();
      if (type === '' || type === 'comment') continue;
      const line = this.#lineOf(start);
      const afterType = this.#at;
      const isPreamble = type === 'preamble';
      const fields = isPreamble || !this.#takes('{', '(') ? undefined : this.#fields(type === 'string');
      if (isPreamble) continue;
      if (fields === undefined) {
        // The next entry may be a good one.
        this.#wasted += this.#at - afterType;
        this.#at = this.#wasted > MAX_WASTED_CHARACTERS ? this.#text.length : afterType;
        return { type, line, fields: undefined };
      }
      if (type !== 'string') return { type, line, fields };
      for (const [name, value] of fields) this.#macros.set(name, value);
    }
  }

  #lineOf(position: number): number {
    for (; this.#counted < position; this.#counted += 1)
      if (this.#text[this.#counted] === '\n') this.#line += 1;
    return this.#line;
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at;
    SPACE.exec(this.#text);
    this.#at = SPACE.lastIndex;
  }

  #word(): string {
    this.#skipSpace();
    WORD.lastIndex = this.#at;
    const word = WORD.exec(this.#text)?.[0] ?? '';
    this.#at += word.length;
    return word;
  }

  /** Takes one of these characters if it is next. */
  #takes(...characters: string[]): boolean {
    this.#skipSpace();
    if (!characters.includes(this.#text[this.#at] ?? '')) return false;
    this.#at += 1;
    return true;
  }

  #fields(isString: boolean): Map<string, string> | undefined {
    const fields = new Map<string, string>();
    if (!isString) {
      // The key may have any character but these.
      const end = /[,})]/.exec(this.#text.slice(this.#at, this.#at + 1_000));
      if (!end) return undefined;
      this.#at += end.index;
      if (!this.#takes(',')) return this.#takes('}', ')') ? fields : undefined;
    }
    while (!this.#takes('}', ')')) {
      const name = this.#word().toLowerCase();
      const value = name !== '' && this.#takes('=') ? this.#value() : undefined;
      if (value === undefined) return undefined;
      if (!fields.has(name)) fields.set(name, value);
      if (!this.#takes(',') && this.#text[this.#at] !== '}' && this.#text[this.#at] !== ')') return undefined;
    }
    return fields;
  }

  /** Reads a value: texts, numbers and macros, joined by `#`. */
  #value(): string | undefined {
    let value = '';
    do {
      if (this.#takes('{')) {
        const part = this.#until('}');
        if (part === undefined) return undefined;
        value += part;
      } else if (this.#takes('"')) {
        const part = this.#until('"');
        if (part === undefined) return undefined;
        value += part;
      } else {
        const word = this.#word();
        if (word === '') return undefined;
        const macro = this.#macros.get(word.toLowerCase());
        this.#expanded += macro?.length ?? 0;
        if (this.#expanded > MAX_MACRO_CHARACTERS) return undefined;
        value += macro ?? word;
      }
      if (value.length > MAX_VALUE_CHARACTERS) return undefined;
    } while (this.#takes('#'));
    return value;
  }

  /** Returns the text before the end that is outside of all braces. */
  #until(end: string): string | undefined {
    let depth = 0;
    const limit = Math.min(this.#text.length, this.#at + MAX_VALUE_CHARACTERS);
    for (let index = this.#at; index < limit; index += 1) {
      const character = this.#text[index];
      if (character === '\\') index += 1;
      else if (character === end && depth === 0) {
        const value = this.#text.slice(this.#at, index);
        this.#at = index + 1;
        return value;
      } else if (character === '{') depth += 1;
      else if (character === '}') depth -= 1;
      if (depth < 0) break;
    }
    this.#wasted += limit - this.#at;
    return undefined;
  }
}

function citationOf(type: string, fields: ReadonlyMap<string, string>): Citation {
  const value = (...names: string[]) => firstText(...names.map((name) => fields.get(name)));
  const names = splitNames(value('author')).map((name) => nameAndOrcid(latexText(name)));
  const orcidOf = orcidsOf(latexText(value('orcid', 'orcid-numbers')), names.length);
  const subtitle = latexText(value('subtitle'));
  const title = latexText(value('title'));
  return {
    kind: kindOf(type),
    title: subtitle === '' ? title : `${title}: ${subtitle}`,
    authors: names.map(({ name, orcid }, index) => ({
      name,
      orcid: orcid ?? orcidOf(name, index),
      affiliation: '',
    })),
    summary: latexText(value('abstract')),
    keywords: splitKeywords(latexText(value('keywords', 'keyword'))),
    doi: doiIn(value('doi').replaceAll('\\_', '_')) ?? doiIn(value('url')),
    year: yearIn(value('year', 'date')),
  };
}

/**
 * Reads the field in which some programs write ORCID iDs: one for each author in their order, or `Name/iD` for some of them.
 */
function orcidsOf(field: string, authors: number): (name: string, index: number) => string | null {
  const found = [...field.matchAll(/(?:([^/\d;]{1,200})\/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])/g)];
  const byFamily = new Map(found.map(([, name = '', orcid]) => [familyOf(name), orcid]));
  const inOrder = found.length === authors ? found.map(([, , orcid]) => orcid) : [];
  return (name, index) => orcidIn(byFamily.get(familyOf(name)) ?? inOrder[index]);
}

/** A name is `Family, Given`, or is compared as a whole. */
function familyOf(name: string): string {
  return (name.split(',', 1)[0] ?? '').trim().toLowerCase();
}

/** Splits a list of names at the word “and” outside of braces. */
function splitNames(list: string): string[] {
  const names: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < list.length; index += 1) {
    const character = list[index];
    if (character === '\\') index += 1;
    else if (character === '{') depth += 1;
    else if (character === '}') depth -= 1;
    else if (depth === 0 && /\s/.test(character ?? '') && /^\sand\s/i.test(list.slice(index, index + 5))) {
      names.push(list.slice(start, index));
      index += 4;
      start = index;
    }
  }
  names.push(list.slice(start));
  return names.map((name) => name.trim()).filter((name) => name !== '' && name.toLowerCase() !== 'others');
}

/** The combining characters of LaTeX's accents. */
const ACCENTS: Readonly<Record<string, string>> = {
  '`': '\u0300',
  "'": '\u0301',
  '^': '\u0302',
  '~': '\u0303',
  '=': '\u0304',
  u: '\u0306',
  '.': '\u0307',
  '"': '\u0308',
  r: '\u030a',
  H: '\u030b',
  v: '\u030c',
  d: '\u0323',
  c: '\u0327',
  k: '\u0328',
  b: '\u0331',
};

/** Commands that stand for characters. */
const CHARACTERS: Readonly<Record<string, string>> = {
  ss: 'ß',
  o: 'ø',
  O: 'Ø',
  l: 'ł',
  L: 'Ł',
  ae: 'æ',
  AE: 'Æ',
  oe: 'œ',
  OE: 'Œ',
  aa: 'å',
  AA: 'Å',
  dh: 'ð',
  DH: 'Ð',
  th: 'þ',
  TH: 'Þ',
  dj: 'đ',
  DJ: 'Đ',
  ng: 'ŋ',
  i: 'ı',
  j: 'ȷ',
  textendash: '–',
  textemdash: '—',
  textquoteright: '’',
  textquoteleft: '‘',
  textasciitilde: '~',
  textbackslash: '\\',
  alpha: 'α',
  beta: 'β',
  gamma: 'γ',
  delta: 'δ',
  epsilon: 'ε',
  lambda: 'λ',
  mu: 'μ',
  pi: 'π',
  sigma: 'σ',
  omega: 'ω',
  times: '×',
  pm: '±',
  degree: '°',
  ldots: '…',
  dots: '…',
  par: '\n',
};

const COMMAND = /\\(?:([`'^~=".])|([A-Za-z]{1,40})|([\s\S]))/y;
/** What an accent is set on: a character, or a command or a group of one. */
const ACCENTED = /\s*(?:\{\s*)?(?:\\([ij])(?![A-Za-z])|([\p{L}]))(?:\s*\})?/uy;

/**
 * Returns a value of BibTeX as plain text: accents and commands that stand for characters are read, other commands and braces
 * are left out, and their contents stay.
 */
function latexText(value: string): string {
  let text = '';
  for (let index = 0; index < value.length; ) {
    const character = value[index] as string;
    if (character === '\\') {
      const read = readCommand(value, index);
      text += read.text;
      index = read.end;
      continue;
    }
    index += 1;
    if (character === '{' || character === '}' || character === '$') continue;
    text += character === '~' ? ' ' : character;
  }
  return text
    .replaceAll('---', '—')
    .replaceAll('--', '–')
    .replaceAll('``', '“')
    .replaceAll("''", '”')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, ' ')
    .normalize('NFC')
    .trim();
}

function readCommand(value: string, start: number): { text: string; end: number } {
  COMMAND.lastIndex = start;
  const [whole = '\\', sign, word, escaped] = COMMAND.exec(value) ?? [];
  const end = start + whole.length;
  const accent = ACCENTS[sign ?? word ?? ''];
  if (accent !== undefined) {
    ACCENTED.lastIndex = end;
    const found = ACCENTED.exec(value);
    if (found) return { text: (found[1] ?? found[2] ?? '') + accent, end: ACCENTED.lastIndex };
  }
  if (word === undefined) return { text: escaped === '\\' ? ' ' : (escaped ?? ''), end };
  // The space after a command belongs to it.
  const after = value[end] === ' ' ? end + 1 : end;
  return Object.hasOwn(CHARACTERS, word)
    ? { text: CHARACTERS[word] ?? '', end: after }
    : { text: '', end: after };
}
