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

/** What browsers show apart from the text around it, where it stands. A footer or a caption of a table may stand elsewhere. */
const BLOCKS = setOf(
  'address article aside blockquote body center dd details dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html li main menu nav ol p pre search section summary table tbody td th thead tr ul',
);
/** What browsers never show. The text goes on behind it. */
const NOTHING = setOf('base link meta script style template title');
/** Ends a block. What stands on either side of it is no part of one word or number. */
const BLOCK_END = '\n\u2029';
const SEPARATORS = /[\u2028\u2029]/g;
/** Stands where something else is shown, or it is not known what. No words go on there. */
const OTHER = '\ufffc';

/** How markup is read. */
interface MarkupReading {
  /** The elements whose text is left out. */
  hidden: ReadonlySet<string>;
  /** What is between an element and the text before and after it. */
  around: (name: string) => string;
  /** Whether lists, raised digits and tables are read as a browser shows them: with marks, and 10² is not 102. */
  isShown: boolean;
}

const NEVER_SHOWN = 'script style template noscript iframe canvas datalist audio video title';
const AS_SHOWN: MarkupReading = {
  hidden: setOf(
    `${NEVER_SHOWN} noembed noframes frameset object applet ruby rp select dialog meter progress math svg bdo xmp plaintext`,
  ),
  around: (name) => {
    if (name === 'br') return '\n';
    if (BLOCKS.has(name)) return BLOCK_END;
    return INLINE.has(name) || NOTHING.has(name) ? '' : OTHER;
  },
  isShown: true,
};
/** Elements of XML are whatever somebody made them. */
const OF_XML: MarkupReading = { hidden: new Set(), around: () => '\n', isShown: false };
const isLine = (name: string) => (INLINE.has(name) ? '' : '\n');

/** Reads HTML or XML as it is shown. */
export function shownText(source: string, kind: 'markup' | 'xml'): MarkupText {
  return textOfMarkup(source, kind === 'xml' ? OF_XML : AS_SHOWN);
}

const CODE = setOf('script style');
const HIDDEN = setOf('script style template noscript svg iframe object canvas textarea title');

/** Yields the text of HTML or XML with more or less of what a reader may not see, or not so. */
export function* looseTexts(source: string): Generator<string> {
  for (const hidden of [setOf(NEVER_SHOWN), HIDDEN, CODE])
    yield textOfMarkup(source, { hidden, around: isLine, isShown: false }).text;
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
/** How much white space before the end of a tag is looked at. */
const MAX_SPACE = 100;
/** Stands between two numbers of which one is raised. */
const RAISED = '^';
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

/** Elements of whose content browsers read nothing but where it ends. */
const RAW = setOf('iframe noembed noframes noscript script style textarea title xmp');
/** One with nothing in it that browsers could take for a tag. */
const RAW_ELEMENT = new RegExp(`<(${[...RAW].join('|')})\\b[^<>]*>[^<]*</\\1>`, 'gi');
const VOID = setOf('area base br col embed hr img input link meta param source track wbr');
/** These end without a tag. */
const UNENDED = setOf('optgroup option rb rp rt rtc');
/** The elements that end no drawing. */
const IN_SVG = setOf(
  'svg g path rect circle ellipse line polyline polygon text tspan defs use symbol clippath mask pattern lineargradient radialgradient stop title desc metadata style filter marker',
);

/** What is in an element that is not shown. If it is not known where browsers let it end, nothing behind it is known to be shown. */
class HiddenContent {
  readonly #open: string[] = [];
  #isOdd = false;

  begin(name: string, element: string, isSelfClosing: boolean): void {
    if (RAW.has(element)) return;
    if (FOREIGN.has(element) && !IN_SVG.has(name)) this.#isOdd = true;
    if (!VOID.has(name) && !UNENDED.has(name) && !(isSelfClosing && FOREIGN.has(element)))
      this.#open.push(name);
  }

  end(name: string, element: string): void {
    if (!RAW.has(element) && !UNENDED.has(name) && this.#open.pop() !== name) this.#isOdd = true;
  }

  /** @param content the source between the tags of the element */
  isKnown(element: string, content: string): boolean {
    if (this.#isOdd || this.#open.length > 0) return false;
    if (RAW.has(element)) return !content.toLowerCase().includes(`</${element}`);
    return !/<!|<(?:iframe|no\w+|script|style|textarea|title|xmp|plaintext)\b/i.test(
      content.replace(RAW_ELEMENT, ''),
    );
  }
}

/** The text of markup. */
export interface MarkupText {
  text: string;
  /** The length of the text that is known to be shown so. */
  known: number;
  /** Where in it raised or lowered text begins or ends. */
  shifts: ReadonlySet<number>;
}

const IGNORED = new RegExp(`[${IGNORED_CHARACTERS}]`, 'g');

/** Returns the character data of HTML or XML, with what images say of themselves. Uses no tree, so no nesting is too deep. */
function textOfMarkup(source: string, { hidden, around, isShown }: MarkupReading): MarkupText {
  let text = '';
  /** The last characters of the text that are not ignored: looking for them in the text would take quadratic time. */
  let last = '';
  let name = '';
  let attribute = '';
  /** The hidden element that is open, and how often. */
  let closed = '';
  let depth = 0;
  let content = new HiddenContent();
  let isHiddenByAttribute = false;
  /** The length of the text at which browsers may read the markup in another way. */
  let known: number | undefined;
  const doubt = () => {
    known ??= text.length;
  };
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
  /** What an image says of itself is shown only where the image is not. */
  const isAlternative = () => !isShown && name === 'img' && attribute === 'alt';
  const opened = () => {
    const mark = marks.begin(name, numbering);
    if (isShown) put(mark);
    // It has no tag that ends it.
    if (name === 'img') put(around(name));
  };
  const opens = (end: number, isSelfClosing: boolean) => {
    if (depth === 0 && (hidden.has(name) || (isHiddenByAttribute && !VOID.has(name)))) {
      closed = name;
      begun = end;
      content = new HiddenContent();
    } else if (depth > 0) content.begin(name, closed, isSelfClosing);
    if (name === closed) depth += 1;
    opened();
  };
  /** Where the tag ends that began the hidden element. */
  let begun = 0;
  /** Where the last tag that begins an element ends. */
  let inner = 0;
  let isEndless = false;
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => put(source.slice(start, end).replace(SEPARATORS, OTHER)),
      ontextentity: (codePoint) => put(String.fromCodePoint(codePoint).replace(SEPARATORS, OTHER)),
      onopentagname(start, end) {
        name = source.slice(start, end).toLowerCase();
        numbering.clear();
        isHiddenByAttribute = false;
        const at = text.length;
        put(around(name));
        // Browsers show it below the rows that are behind it.
        if (name === 'tfoot') doubt();
        if (depth === 0) tables.begin(name, at);
        isShifted ||= SHIFTED.has(name);
      },
      onopentagend(end) {
        inner = end;
        opens(end + 1, false);
      },
      onselfclosingtag: (end) => {
        if (isShown && !FOREIGN.has(name)) opens(end + 1, true);
        else opened();
      },
      onclosetag(start, end) {
        const closing = source.slice(start, end).toLowerCase();
        // Browsers read attributes here, too, and may end the tag elsewhere.
        if (!/^[ \t\n\r\f]*>/.test(source.slice(end, end + MAX_SPACE))) doubt();
        if (isShown && depth > 0 && closing === closed)
          isEndless ||= ENDLESS.has(closed) || (closed === 'script' && isUnended(source.slice(inner, start)));
        if (depth > 0 && closing === closed && !isEndless) depth -= 1;
        if (depth > 0) content.end(closing, closed);
        else if (closed !== '') {
          if (isShown && !content.isKnown(closed, source.slice(begun, start))) doubt();
          closed = '';
        }
        marks.end(closing);
        put(around(closing));
        if (depth === 0) tables.end(closing);
        isShifted ||= SHIFTED.has(closing);
      },
      onattribname(start, end) {
        attribute = source.slice(start, end).toLowerCase();
        if (NUMBERING.has(attribute)) numbering.add(attribute);
        isHiddenByAttribute ||= isShown && (attribute === 'hidden' || attribute === 'popover');
        // What the element around it has is not shown.
        if (attribute === 'shadowrootmode') known = 0;
      },
      onattribdata(start, end) {
        if (isAlternative()) put(source.slice(start, end));
      },
      onattribentity(codePoint) {
        if (isAlternative()) put(String.fromCodePoint(codePoint));
      },
      onattribend() {},
      oncdata(start, end, offset) {
        // In HTML, it is a comment that ends elsewhere.
        doubt();
        if (!isShown) put(source.slice(start, end - offset));
      },
      oncomment(start, end, offset) {
        // Browsers end a comment in more ways.
        const comment = source.slice(start, end - offset);
        if (comment.includes('--!>') || /^-?>/.test(comment)) doubt();
      },
      ondeclaration() {},
      onprocessinginstruction() {},
      onend() {},
    },
  );
  tokenizer.write(source);
  tokenizer.end();
  return { text: tables.marked(text), shifts, known: known ?? text.length };
}
