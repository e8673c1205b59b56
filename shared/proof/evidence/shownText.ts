import { Tokenizer } from 'htmlparser2';
import { IGNORED_CHARACTERS } from '../../findings/normalText.ts';

/*
 * The text of markup, as far as it is known to be what a reader sees. Only within the elements of a list is a word known to run on.
 * Of others, browsers show nothing, or they show it in another way or at another place.
 */

const setOf = (names: string) => new Set(names.split(' '));
/** What browsers show in a line with the text around it, with nothing in between. Of any other element this is not known. */
const INLINE = setOf(
  'a abbr acronym b big cite code data del dfn em font i ins kbd label mark nobr output s samp small span strike strong sub sup time tt u var wbr',
);

/** How markup is read. */
export interface MarkupReading {
  /** The elements whose text is left out. */
  hidden: ReadonlySet<string>;
  /** Whether there is white space before and after an element. */
  isApart: (name: string) => boolean;
  /** Whether lists, raised digits and tables are read as a browser shows them: with marks, and 10² is not 102. */
  isShown: boolean;
}

const NEVER_SHOWN = 'script style template noscript iframe canvas datalist audio video title';
const AS_SHOWN: MarkupReading = {
  hidden: setOf(
    `${NEVER_SHOWN} noembed noframes frameset object applet ruby rp select dialog meter progress math svg bdo xmp plaintext`,
  ),
  isApart: (name) => !INLINE.has(name),
  isShown: true,
};
/** Elements of XML are whatever somebody made them. */
const OF_XML: MarkupReading = { hidden: new Set(), isApart: () => true, isShown: false };

/** Reads HTML or XML as it is shown. */
export function shownText(source: string, kind: 'markup' | 'xml'): MarkupText {
  return textOfMarkup(source, kind === 'xml' ? OF_XML : AS_SHOWN);
}

const CODE = setOf('script style');
const HIDDEN = setOf('script style template noscript svg iframe object canvas textarea title');

/** Yields the text of HTML or XML with more or less of what a reader may not see, or not so. */
export function* looseTexts(source: string): Generator<string> {
  for (const hidden of [setOf(NEVER_SHOWN), HIDDEN, CODE])
    yield textOfMarkup(source, { hidden, isApart: AS_SHOWN.isApart, isShown: false }).text;
}

/** Stands before each item of a list that has no numbers. */
export const ITEM = '•';

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

/** After these, nothing is known to be shown any more. */
const ENDLESS = setOf('frameset plaintext');
/** In these, a tag ends itself with a slash. */
const FOREIGN = setOf('svg math');
/** Stands between two numbers of which one is raised. */
const RAISED = '^';
/** Stands where something else is shown, so that no words go on. */
const OTHER = '\ufffc';

const ROWS = setOf('thead tbody tfoot tr colgroup');
const CELLS = setOf('td th caption');

/** Finds the text of tables that is in no cell: browsers show it before the table. */
class Tables {
  /** Where the tables that are open begin in the text. */
  readonly #open: number[] = [];
  #isBetween = false;
  readonly #moved = new Set<number>();

  begin(name: string, at: number): void {
    if (name === 'table') {
      // In no cell, another table ends this one.
      if (this.#isBetween) this.#open.pop();
      this.#open.push(at);
    }
    if (name === 'table' || ROWS.has(name)) this.#isBetween = this.#open.length > 0;
    if (CELLS.has(name)) this.#isBetween = false;
  }

  end(name: string): void {
    if (name === 'table') {
      this.#open.pop();
      this.#isBetween = false;
    } else if (ROWS.has(name) || CELLS.has(name)) this.#isBetween = this.#open.length > 0;
  }

  /** Whether text is shown before its table instead of here. */
  moves(text: string): boolean {
    const start = this.#open.at(-1);
    if (!this.#isBetween || start === undefined || !/\S/.test(text)) return false;
    this.#moved.add(start);
    return true;
  }

  /** Replaces the white space at the beginning of each table before which something else is shown. */
  marked(text: string): string {
    let [whole, from] = ['', 0];
    for (const start of [...this.#moved].sort((one, other) => one - other)) {
      whole += text.slice(from, start) + OTHER;
      from = start + 1;
    }
    return whole + text.slice(from);
  }
}

/**
 * Whether a browser may end a script at a later place than here: after one in a comment. Both are written so that this is no such
 * script itself, in an evidence file.
 */
function isUnended(script: string): boolean {
  const comment = script.search(/<[!]--/);
  return comment >= 0 && /<[s]cript/i.test(script.slice(comment));
}

/** The text of markup. */
export interface MarkupText {
  text: string;
  /** Where in it raised or lowered text begins or ends. */
  shifts: ReadonlySet<number>;
}

const IGNORED = new RegExp(`[${IGNORED_CHARACTERS}]`, 'g');

/** Returns the character data of HTML or XML, with what images say of themselves. Uses no tree, so no nesting is too deep. */
function textOfMarkup(source: string, { hidden, isApart, isShown }: MarkupReading): MarkupText {
  let text = '';
  /** The last characters of the text that are not ignored: looking for them in the text would take quadratic time. */
  let last = '';
  let name = '';
  let attribute = '';
  /** The hidden element that is open, and how often. */
  let closed = '';
  let depth = 0;
  const marks = new ListMarks();
  const numbering = new Set<string>();
  /** Whether what follows is raised or lowered, or no longer is. Digits at that place are of two numbers. */
  let isShifted = false;
  const shifts = new Set<number>();
  const tables = new Tables();
  const put = (part: string) => {
    if (depth > 0 || part === '') return;
    if (!isShown) {
      text += part;
      return;
    }
    if (tables.moves(part)) return;
    const shown = part.replaceAll('\0', '');
    const characters = shown.replace(IGNORED, '');
    if (isShifted && characters !== '') {
      if (/\p{Nd}$/u.test(last) && /^\p{Nd}/u.test(characters)) text += RAISED;
      shifts.add(text.length);
      isShifted = false;
    }
    text += shown;
    last = (last + characters).slice(-2);
  };
  const isAlternative = () => name === 'img' && attribute === 'alt';
  const opened = () => {
    const mark = marks.begin(name, numbering);
    if (isShown) put(mark);
    // It has no tag that ends it.
    if (name === 'img') put('\n');
  };
  const opens = () => {
    if (depth === 0 && hidden.has(name)) closed = name;
    if (name === closed) depth += 1;
    opened();
  };
  /** Where the last tag that begins an element ends. */
  let content = 0;
  let isEndless = false;
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => put(source.slice(start, end)),
      ontextentity: (codePoint) => put(String.fromCodePoint(codePoint)),
      onopentagname(start, end) {
        name = source.slice(start, end).toLowerCase();
        numbering.clear();
        const at = text.length;
        if (isApart(name)) put('\n');
        if (depth === 0) tables.begin(name, at);
        isShifted ||= SHIFTED.has(name);
      },
      onopentagend(end) {
        content = end;
        opens();
      },
      onselfclosingtag: () => (isShown && !FOREIGN.has(name) ? opens() : opened()),
      onclosetag(start, end) {
        const closing = source.slice(start, end).toLowerCase();
        if (isShown && depth > 0 && closing === closed)
          isEndless ||=
            ENDLESS.has(closed) || (closed === 'script' && isUnended(source.slice(content, start)));
        if (depth > 0 && closing === closed && !isEndless) depth -= 1;
        if (depth === 0) closed = '';
        marks.end(closing);
        if (isApart(closing)) put('\n');
        if (depth === 0) tables.end(closing);
        isShifted ||= SHIFTED.has(closing);
      },
      onattribname(start, end) {
        attribute = source.slice(start, end).toLowerCase();
        if (NUMBERING.has(attribute)) numbering.add(attribute);
      },
      onattribdata(start, end) {
        if (isAlternative()) put(source.slice(start, end));
      },
      onattribentity(codePoint) {
        if (isAlternative()) put(String.fromCodePoint(codePoint));
      },
      onattribend() {},
      oncdata(start, end, offset) {
        // In HTML, it is a comment.
        if (!isShown) put(source.slice(start, end - offset));
      },
      oncomment() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend() {},
    },
  );
  tokenizer.write(source);
  tokenizer.end();
  return { text: tables.marked(text), shifts };
}
