import { XMLParser } from 'fast-xml-parser';
import { type ListedEntry, SourceListError } from './listedEntry.ts';
import { marksIn } from './marksIn.ts';

type Outline = { outline?: Outline[] } & Record<string, unknown>;

/** What an outline is read by, whatever the case of its attributes. */
const ADDRESSES = ['xmlurl', 'htmlurl', 'url'] as const;

/**
 * OPML, as feed readers write their lists: each outline with an address is a source, and the titles of the outlines
 * around it are its tags.
 *
 * @throws SourceListError where it is no OPML. A document type is refused: it could define entities without end.
 */
export function readOpml(text: string): { entries: ListedEntry[] } {
  if (/<!DOCTYPE/i.test(text))
    throw new SourceListError('A document type is not taken. Leave out <!DOCTYPE …>.');
  requireFewMarks(text);
  const lineOf = lineCounter(text);
  const entries: ListedEntry[] = [];
  // A stack of our own: how deep outlines nest is up to who wrote them.
  const open = [...outlinesOf(text)].reverse().map((outline) => ({ outline, tags: [] as string[] }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { outline, tags } = next;
    const attributes = attributesOf(outline);
    const name = attributes.get('title') || attributes.get('text') || '';
    const url = ADDRESSES.map((key) => attributes.get(key)).find(Boolean);
    if (url !== undefined) entries.push({ line: lineOf(outline), url, said: { name, tags } });
    const inner = url === undefined && name !== '' && !tags.includes(name) ? [...tags, name] : tags;
    for (const child of [...(outline.outline ?? [])].reverse()) open.push({ outline: child, tags: inner });
  }
  return { entries };
}

/** What a parser makes of a document is many times as large as each of its tags, attributes and texts: so many are read. */
const MOST_TAGS = 60_000;
const MOST_EQUAL_SIGNS = 200_000;
const MOST_CHARACTERS_OF_ONE = 65_536;

function requireFewMarks(text: string): void {
  const tags = marksIn(text, '<', MOST_TAGS);
  if (tags.count > MOST_TAGS || marksIn(text, '=', MOST_EQUAL_SIGNS).count > MOST_EQUAL_SIGNS)
    throw new SourceListError(
      'The list has more tags and attributes than are read at once. Send it in parts.',
    );
  if (tags.widest > MOST_CHARACTERS_OF_ONE)
    throw new SourceListError(
      `The list has a tag or text of more than ${MOST_CHARACTERS_OF_ONE} characters.`,
    );
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
      `The list is no XML: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (typeof document.opml !== 'object') throw new SourceListError('The list is no OPML: it has no <opml>.');
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

/** The five entities that XML knows by itself, and characters by number; nothing else can be defined. */
function unescaped(value: string): string {
  return value.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return NAMED[String(name)] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** The line that an outline begins on; asked for in the order of the document. */
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
