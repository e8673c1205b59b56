import { Tokenizer } from 'htmlparser2';
import type { Passage } from '../../findings/finding.ts';
import { normalTextOf } from '../../findings/normalText.ts';
import { charsetInHtml } from '../../values/htmlCharset.ts';

/*
 * Whether the words of a quotation are in the bytes of an object, read without the node's own extractor. White space does not
 * count, since tags may or may not stand for it. Only in a table it does, because two cells are not one number.
 */

/** A text that was read from bytes, with the range of the quoted words in it (UTF-16 units). */
export interface SeenPassage {
  text: string;
  start: number;
  end: number;
}

/** In larger objects, no words are looked for. */
export const MAX_SEEN_BYTES = 2_000_000;

/** Finds quoted words in bytes. `unreadable`: bytes of this type or size cannot be read as text here. */
export function seePassage(
  bytes: Uint8Array,
  mediaType: string,
  passage: Pick<Passage, 'exact' | 'prefix' | 'suffix'>,
): SeenPassage | 'absent' | 'unreadable' {
  const kind = kindOf(bytes, mediaType);
  if (kind === 'other' || bytes.length > MAX_SEEN_BYTES) return 'unreadable';
  const source = decode(bytes, mediaType);
  const isTable = kind === 'table';
  for (const [text, words] of readings(source, kind, passage.exact)) {
    const seen = find(text, { ...passage, exact: words }, isTable);
    if (seen) return { text, ...seen };
  }
  return 'absent';
}

type Kind = 'markup' | 'table' | 'text' | 'other';

function kindOf(bytes: Uint8Array, mediaType: string): Kind {
  const beginning = new TextDecoder('latin1').decode(bytes.subarray(0, 1_024));
  // A server may say that a PDF is text.
  if (beginning.startsWith('%PDF')) return 'other';
  if (/html|xml/i.test(mediaType)) return 'markup';
  if (/csv|tab-separated/i.test(mediaType)) return 'table';
  if (/^text\/|json|yaml|javascript/i.test(mediaType)) return 'text';
  if (!/octet-stream|^$/i.test(mediaType) || beginning.includes('\0')) return 'other';
  return /<(!doctype|html|head|body)\b/i.test(beginning) ? 'markup' : 'text';
}

/** Stands before each item of a list in a reading of markup. */
const ITEM = '•';

/** The ways in which a text and the quoted words are read, the strictest first. */
function* readings(source: string, kind: Kind, words: string): Generator<[text: string, words: string]> {
  if (kind === 'markup') {
    // The node's text marks the items of lists. Where none is, the same signs are a minus or a number.
    const marked = words.replace(/^\s*(?:-|\d+\.)\s+/gm, `\n${ITEM} `);
    for (const hidden of [HIDDEN, CODE]) {
      yield [textOfMarkup(source, hidden, ''), words];
      if (marked !== words) yield [textOfMarkup(source, hidden, `${ITEM} `), marked];
    }
  }
  yield [source, words];
  if (kind === 'table') for (const delimiter of ',;\t|') yield [cellsOf(source, delimiter), words];
}

/** Returns the text of CSV (RFC 4180) with a tab between cells, as the node's text has it. */
function cellsOf(csv: string, delimiter: string): string {
  const between = `[${delimiter}\r\n]`;
  const cellOrDelimiter = new RegExp(`(?<=^|${between})"((?:[^"]|"")*)"(?=${between}|$)|[${delimiter}]`, 'g');
  return csv.replace(cellOrDelimiter, (_, cell?: string) => cell?.replaceAll('""', '"') ?? '\t');
}

const CODE = new Set(['script', 'style']);
const HIDDEN = new Set('script style template noscript svg iframe object canvas textarea title'.split(' '));
const INLINE = new Set(
  'a abbr b bdi bdo cite code del em font i img ins kbd label mark q s samp small span strong sub sup time u var wbr'.split(
    ' ',
  ),
);

/**
 * Returns the character data of HTML or XML, with what images say of themselves. Uses no tree, so no nesting is too deep.
 *
 * @param item what stands before each item of a list
 */
function textOfMarkup(source: string, hidden: ReadonlySet<string>, item: string): string {
  let text = '';
  let name = '';
  let attribute = '';
  /** The hidden element that is open, and how often. */
  let closed = '';
  let depth = 0;
  const put = (part: string) => {
    if (depth === 0) text += part;
  };
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => put(source.slice(start, end)),
      ontextentity: (codePoint) => put(String.fromCodePoint(codePoint)),
      onopentagname(start, end) {
        name = source.slice(start, end).toLowerCase();
        if (!INLINE.has(name)) put('\n');
        if (name === 'li') put(item);
      },
      onopentagend() {
        if (depth === 0 && hidden.has(name)) closed = name;
        if (name === closed) depth += 1;
      },
      onselfclosingtag() {},
      onclosetag(start, end) {
        const closing = source.slice(start, end).toLowerCase();
        if (depth > 0 && closing === closed) depth -= 1;
        if (depth === 0) closed = '';
        if (!INLINE.has(closing)) put('\n');
      },
      onattribname: (start, end) => void (attribute = source.slice(start, end).toLowerCase()),
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

/** Returns the range of words in a text; of several, the one with the most of the context around it. */
function find(
  text: string,
  { exact, prefix, suffix }: Pick<Passage, 'exact' | 'prefix' | 'suffix'>,
  hasSpaces: boolean,
): { start: number; end: number } | undefined {
  const compared = (part: string) => (hasSpaces ? part : part.replaceAll(' ', ''));
  const { text: normal, starts, ends } = normalTextOf(text, true);
  const [words, before, after] = [exact, prefix, suffix].map((part) =>
    compared(normalTextOf(part, true).text),
  ) as [string, string, string];
  if (words === '') return undefined;
  const places: number[] = [];
  for (let at = 0; at < normal.length; at += 1) if (hasSpaces || normal[at] !== ' ') places.push(at);
  const all = compared(normal);
  let best: { at: number; context: number } | undefined;
  for (
    let at = all.indexOf(words), seen = 0;
    at >= 0 && seen < 500;
    at = all.indexOf(words, at + 1), seen += 1
  ) {
    let context = 0;
    while (context < before.length && all[at - 1 - context] === before[before.length - 1 - context])
      context += 1;
    const end = at + words.length;
    for (let follows = 0; follows < after.length && all[end + follows] === after[follows]; follows += 1)
      context += 1;
    if (!best || context > best.context) best = { at, context };
  }
  if (!best) return undefined;
  return {
    start: starts[places[best.at] ?? 0] ?? 0,
    end: ends[places[best.at + words.length - 1] ?? 0] ?? 0,
  };
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
    (kindOf(bytes, mediaType) === 'markup' ? charsetInHtml(bytes) : undefined) ??
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
