/** What is between the braces of an entry is far smaller. */
const MAX_VALUE_CHARACTERS = 200_000;
/** How much may be read in vain: the reader goes back behind an entry that does not end. */
const MAX_WASTED_CHARACTERS = 200 * MAX_VALUE_CHARACTERS;
/** How much all uses of `@string` may add: a long one may be used in each of many entries. */
const MAX_MACRO_CHARACTERS = 20 * MAX_VALUE_CHARACTERS;
const MAX_KEY_CHARACTERS = 1_000;
/** How much of the line before an entry is looked at. */
const MAX_BEFORE_CHARACTERS = 200;

/** An entry of a file of BibTeX. Values are as they are written, without their outer braces or quotes. */
export interface BibtexEntry {
  /** In lower case. */
  type: string;
  key: string;
  line: number;
  /** By their names in lower case. */
  fields: Map<string, string>;
}

export interface BibtexFile {
  entries: BibtexEntry[];
  /** What `@preamble` holds: the commands that the values use. */
  preambles: string[];
  /** A sentence for everything that was not read, or was not written as it should be. */
  warnings: string[];
}

/**
 * Reads the entries of BibTeX and BibLaTeX as other programs write them: what is wrong in one place does not hide the rest, and
 * is said. Between entries everything is a comment.
 *
 * Source: http://www.bibtex.org/Format/, bibtex.web (how keys, values and braces end)
 */
export function readBibtexEntries(text: string): BibtexFile {
  return new Reader(text).read();
}

const NAME = /[^\s"#%'(),={}@][^"#%'(),={}@\r\n]{0,200}/y;
const TYPE = /[^\s"#%'(),={}@]{1,200}/y;
const WORD = /[^\s"#%'(),={}]{1,500}/y;
const SPACE = /\s*/y;
/** What begins another entry within a value that does not end. */
const NEXT_ENTRY = /[\r\n][^\S\r\n]*@[A-Za-z]+\s*[{(]/;
/** What may follow a value. */
const AFTER_VALUE = /\s*(?:[,#)}]|[A-Za-z][\w+:-]*\s*=|$)/y;

/** Reads from the left to the right, without going back over more than one entry. */
class Reader {
  readonly #text: string;
  readonly #macros = new Map<string, string>();
  readonly #file: BibtexFile = { entries: [], preambles: [], warnings: [] };
  #at = 0;
  #counted = 0;
  #line = 1;
  #wasted = 0;
  #expanded = 0;
  /** What was odd in the entry that is read. */
  #odd = new Set<string>();

  constructor(text: string) {
    this.#text = text;
  }

  read(): BibtexFile {
    for (;;) {
      const start = this.#text.indexOf('@', this.#at);
      if (start < 0) return this.#file;
      if (this.#wasted > MAX_WASTED_CHARACTERS) {
        this.#warn(
          `Too much of the file cannot be read: it was not read from line ${this.#lineOf(start)} on.`,
        );
        return this.#file;
      }
      this.#at = start + 1;
      const type = this.#take(TYPE).toLowerCase();
      if (type !== '') this.#readEntry(type, start);
    }
  }

  #readEntry(type: string, start: number): void {
    const line = this.#lineOf(start);
    const afterType = this.#at;
    const lines = this.#text.slice(Math.max(0, start - MAX_BEFORE_CHARACTERS), start).split(/[\r\n]/);
    const before = lines.at(-1) ?? '';
    const open = this.#takes('{', '(');
    if (open === undefined) {
      // An “@” within a text, as in an address of mail, begins nothing.
      if (before.trim() === '' && type !== 'comment') this.#warn(`The entry in line ${line} cannot be read.`);
      return;
    }
    if (type === 'comment') return this.#skipComment(open, line);
    if (before.trimStart().startsWith('%')) {
      this.#warn(`The entry in line ${line} was left out: it is behind a “%”.`);
      return;
    }
    this.#odd = new Set();
    if (type === 'preamble') {
      const value = this.#value();
      if (value === undefined) this.#warn(`The @preamble in line ${line} cannot be read.`);
      else this.#file.preambles.push(value);
      return;
    }
    const read = this.#fields(type === 'string', open);
    if (read === undefined) {
      // The next entry may be a good one.
      this.#wasted += this.#at - afterType;
      this.#at = afterType;
      this.#warn(`The entry in line ${line} cannot be read.`);
      return;
    }
    for (const odd of this.#odd) this.#warn(`The entry in line ${line}: ${odd}.`);
    if (type !== 'string') this.#file.entries.push({ type, line, ...read });
    else for (const [name, value] of read.fields) this.#macros.set(name, value);
  }

  /** What is in the braces of a comment is none of the file’s entries, as biber, JabRef and Zotero see it. */
  #skipComment(open: string, line: number): void {
    const start = this.#at;
    const end = this.#endOf(open === '{' ? '}' : ')', true);
    if (end === undefined) return;
    this.#at = end + 1;
    if (/@[A-Za-z]+\s*[{(]/.test(this.#text.slice(start, end)))
      this.#warn(`The entries in the comment in line ${line} were left out.`);
  }

  #warn(sentence: string): void {
    this.#file.warnings.push(sentence);
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

  #take(what: RegExp): string {
    this.#skipSpace();
    what.lastIndex = this.#at;
    const found = what.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  /** Takes one of these characters if it is next. */
  #takes(...characters: string[]): string | undefined {
    this.#skipSpace();
    const next = this.#text[this.#at] ?? '';
    if (!characters.includes(next)) return undefined;
    this.#at += 1;
    return next;
  }

  #fields(isString: boolean, open: string): Pick<BibtexEntry, 'key' | 'fields'> | undefined {
    const fields = new Map<string, string>();
    const key = isString ? '' : this.#key(open);
    for (;;) {
      this.#skipSpace();
      const close = this.#takes(open === '{' ? '}' : ')');
      if (close !== undefined) return { key, fields };
      if (this.#at >= this.#text.length) {
        if (fields.size === 0) return undefined;
        this.#odd.add('it has no end');
        return { key, fields };
      }
      if (this.#takes(',') !== undefined) continue;
      const name = this.#take(NAME).trim().toLowerCase();
      if (name === '' || this.#takes('=') === undefined) return undefined;
      this.#skipSpace();
      // A field may have no value.
      if (/[,)}]/.test(this.#text[this.#at] ?? '')) continue;
      const value = this.#value();
      if (value === undefined) return undefined;
      this.#skipSpace();
      if (/[^,)}]/.test(this.#text[this.#at] ?? '')) this.#odd.add('a comma is missing');
      const earlier = fields.get(name);
      if (earlier === undefined) fields.set(name, value);
      else if (name === 'keywords') fields.set(name, `${earlier}, ${value}`);
      else if (earlier !== value) this.#odd.add(`its field “${name}” is there twice, and the first was read`);
    }
  }

  /**
   * Reads a key and its comma. In braces it ends at a comma, white space or the brace; in parentheses it may have those too, as
   * DOIs do. Without a key, the fields begin at once.
   */
  #key(open: string): string {
    this.#skipSpace();
    const start = this.#at;
    const rest = this.#text.slice(start, start + MAX_KEY_CHARACTERS);
    const [key = ''] = (open === '{' ? /^[^\s,}]*/ : /^[^\s,]*/).exec(rest) ?? [];
    this.#at += key.length;
    this.#skipSpace();
    const next = this.#text[this.#at];
    if (next === ',') return key;
    if (open === '(' && key.endsWith(')')) {
      this.#at = start + key.length - 1;
      return key.slice(0, -1);
    }
    if (next === '=' || /^[^\s,}=]+=/.test(key)) {
      this.#odd.add('it has no key');
      this.#at = start;
      return '';
    }
    if (next === undefined || (next === '}' && !key.includes('{'))) return key;
    return this.#oddKey(key, start, rest);
  }

  /** Reads a key with braces or white space in it, or one without its comma. */
  #oddKey(key: string, start: number, rest: string): string {
    const comma = rest.indexOf(',');
    const equals = rest.indexOf('=');
    if (comma >= 0 && (equals < 0 || comma < equals)) {
      this.#odd.add('its key has braces or white space');
      this.#at = start + comma;
      return rest.slice(0, comma).trim();
    }
    if (equals >= 0) this.#odd.add('its key has no comma');
    return key;
  }

  /** Reads a value: texts, numbers and macros, joined by `#`. */
  #value(): string | undefined {
    let value = '';
    do {
      const quote = this.#takes('{', '"');
      if (quote !== undefined) {
        const end = this.#endOf(quote === '{' ? '}' : '"', false);
        if (end === undefined) return undefined;
        value += this.#text.slice(this.#at, end);
        this.#at = end + 1;
      } else {
        const word = this.#take(WORD);
        if (word === '') return undefined;
        const macro = this.#macros.get(word.toLowerCase());
        this.#expanded += macro?.length ?? 0;
        if (this.#expanded > MAX_MACRO_CHARACTERS) return undefined;
        if (macro === undefined && !isKnownWord(word))
          this.#odd.add(`the abbreviation “${word.slice(0, 50)}” is not in the file, and was read as a text`);
        value += macro ?? word;
      }
      if (value.length > MAX_VALUE_CHARACTERS) return undefined;
    } while (this.#takes('#') !== undefined);
    return value;
  }

  /**
   * Returns where a value ends. BibTeX counts every brace, also one behind a backslash. Values that it would not read may have
   * been written with such braces as signs; they are tried second.
   */
  #endOf(end: string, isComment: boolean): number | undefined {
    const counted = this.#scan(end, false);
    if (isComment || (counted !== undefined && this.#mayFollow(counted + 1))) {
      if (counted !== undefined && !isComment) this.#noticeEntryIn(counted);
      return counted;
    }
    const escaped = this.#scan(end, true);
    if (escaped !== undefined && this.#mayFollow(escaped + 1)) {
      this.#odd.add('a value has braces that are not in pairs');
      return escaped;
    }
    return counted;
  }

  #scan(end: string, skipsEscaped: boolean): number | undefined {
    let depth = 0;
    const limit = Math.min(this.#text.length, this.#at + MAX_VALUE_CHARACTERS);
    for (let index = this.#at; index < limit; index += 1) {
      const character = this.#text[index];
      if (skipsEscaped && character === '\\') index += 1;
      else if (character === end && depth === 0) return index;
      else if (character === '{') depth += 1;
      else if (character === '}') depth -= 1;
      if (depth < 0) break;
    }
    this.#wasted += limit - this.#at;
    return undefined;
  }

  #mayFollow(position: number): boolean {
    AFTER_VALUE.lastIndex = position;
    return AFTER_VALUE.test(this.#text);
  }

  /** A value whose end is missing takes in the entries behind it, if the braces fit by chance. */
  #noticeEntryIn(end: number): void {
    if (NEXT_ENTRY.test(this.#text.slice(this.#at, end)))
      this.#odd.add('a value may have another entry in it');
  }
}

const MONTH = /^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*$/i;

function isKnownWord(word: string): boolean {
  return /^[\d./-]+$/.test(word) || MONTH.test(word);
}
