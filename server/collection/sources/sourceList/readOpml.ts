import { XMLParser } from 'fast-xml-parser';
import { countMarks } from './countMarks.ts';
import { type ListedEntry, SourceListError } from './listedEntry.ts';

type Outline = { outline?: Outline[] } & Record<string, unknown>;

/** The attributes that may hold the URL, in order of preference. Their case is ignored. */
const URL_ATTRIBUTES = ['xmlurl', 'htmlurl', 'url'] as const;

/**
 * Reads an OPML list as exported by feed readers. Each outline with a URL is a source; the titles of the outlines around
 * it are its tags.
 *
 * @throws SourceListError if it is not OPML, too large, or has a document type, which could define nested entities.
 */
export function readOpml(text: string): { entries: ListedEntry[] } {
  if (/<!DOCTYPE/i.test(text))
    throw new SourceListError('A document type is not allowed. Remove <!DOCTYPE …>.');
  requireWithinLimits(text);
  const lineOf = lineCounter(text);
  const entries: ListedEntry[] = [];
  // An explicit stack, because the nesting depth is not limited.
  const open = [...outlinesOf(text)].reverse().map((outline) => ({ outline, tags: [] as string[] }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { outline, tags } = next;
    const attributes = attributesOf(outline);
    const name = attributes.get('title') || attributes.get('text') || '';
    const url = URL_ATTRIBUTES.map((key) => attributes.get(key)).find(Boolean);
    if (url !== undefined) entries.push({ line: lineOf(outline), url, fields: { name, tags } });
    const inner = url === undefined && name !== '' && !tags.includes(name) ? [...tags, name] : tags;
    for (const child of [...(outline.outline ?? [])].reverse()) open.push({ outline: child, tags: inner });
  }
  return { entries };
}

/** Limits of the parser's memory use: parsed tags and attributes are many times larger than their text. */
const MAX_TAGS = 60_000;
const MAX_EQUAL_SIGNS = 200_000;
const MAX_TAG_CHARACTERS = 65_536;

function requireWithinLimits(text: string): void {
  const tags = countMarks(text, '<', MAX_TAGS);
  if (tags.count > MAX_TAGS || countMarks(text, '=', MAX_EQUAL_SIGNS).count > MAX_EQUAL_SIGNS)
    throw new SourceListError('The list has too many tags and attributes. Send it in parts.');
  if (tags.longest > MAX_TAG_CHARACTERS)
    throw new SourceListError(`The list has a tag or text of more than ${MAX_TAG_CHARACTERS} characters.`);
}

function outlinesOf(text: string): Outline[] {
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    parseAttributeValue: false,
    processEntities: false,
    captureMetaData: true,
    isArray: (name) => name === 'outline',
  });
  let document: { opml?: { body?: Outline } };
  try {
    document = parser.parse(text, true) as typeof document;
  } catch (error) {
    throw new SourceListError(
      `The list is not valid XML: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (typeof document.opml !== 'object') throw new SourceListError('The list is not OPML: it has no <opml>.');
  return document.opml.body?.outline ?? [];
}

function attributesOf(outline: Outline): Map<string, string> {
  return new Map(
    Object.entries(outline)
      .filter(([name]) => name.startsWith('@'))
      .map(([name, value]) => [name.slice(1).toLowerCase(), unescaped(String(value)).trim()]),
  );
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Decodes XML's five predefined entities and numeric character references. */
function unescaped(value: string): string {
  return value.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return NAMED[String(name)] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Returns a function that gives an outline's first line. It must be called in document order. */
function lineCounter(text: string): (outline: Outline) => number {
  const metadata = XMLParser.getMetaDataSymbol() as unknown as symbol;
  let [line, counted] = [1, 0];
  return (outline) => {
    const found = (outline as Record<symbol, { startIndex?: number } | undefined>)[metadata];
    for (const end = found?.startIndex ?? counted; counted < end; counted += 1) {
      if (text[counted] === '\n') line += 1;
    }
    return line;
  };
}
