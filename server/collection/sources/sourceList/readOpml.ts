import { Parser } from 'htmlparser2';
import { countMarks, type ListedEntry, lineCounter, SourceListError } from './listedEntry.ts';

/** The attributes that may hold the URL, in order of preference. Their case is ignored. */
const URL_ATTRIBUTES = ['xmlurl', 'htmlurl', 'url'] as const;

/** Limits of the time and memory that tags and attributes take. */
const MAX_TAGS = 60_000;
const MAX_EQUAL_SIGNS = 200_000;
const MAX_TAG_CHARACTERS = 65_536;

/**
 * Reads an OPML list as exported by feed readers. Each outline with a URL is a source; the titles of the outlines around
 * it are its tags. It is read more leniently than XML: attributes may be without quotes, and `&` need not be escaped.
 *
 * @throws SourceListError if it is not OPML, too large, cut off, or has a document type, which could define nested entities.
 */
export function readOpml(text: string): { entries: ListedEntry[] } {
  if (/<!DOCTYPE/i.test(text))
    throw new SourceListError('A document type is not allowed. Remove <!DOCTYPE …>.');
  requireWithinLimits(text);
  const lineOf = lineCounter(text);
  const entries: ListedEntry[] = [];
  /** The outlines that are open, each with the tags of what is in it. */
  const open: { tags: readonly string[] }[] = [];
  let isOpml = false;
  const close = () => void open.pop();
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const element = name.toLowerCase();
        isOpml ||= element === 'opml';
        if (element !== 'outline' || !isOpml) return;
        const start = parser.startIndex;
        const isUnquotedEnd = isSelfClosedWithoutQuotes(text, parser.endIndex, attributes);
        const read = readOutline(attributes, isUnquotedEnd, open.at(-1)?.tags ?? []);
        if (read.entry) entries.push({ ...read.entry, line: lineOf(start) });
        open.push({ tags: read.inner });
        // Its slash was read as the end of its last attribute, so nothing else closes it.
        if (isUnquotedEnd) close();
      },
      onclosetag(name) {
        if (name.toLowerCase() === 'outline') close();
      },
    },
    { xmlMode: true },
  );
  parser.end(text);
  if (!isOpml) throw new SourceListError('The list is not OPML: it has no <opml>.');
  if (!/<\/opml\s*>/i.test(text))
    throw new SourceListError('The list is cut off: its end </opml> is missing.');
  return { entries };
}

function requireWithinLimits(text: string): void {
  const tags = countMarks(text, '<', MAX_TAGS);
  if (tags.count > MAX_TAGS || countMarks(text, '=', MAX_EQUAL_SIGNS).count > MAX_EQUAL_SIGNS)
    throw new SourceListError('The list has too many tags and attributes. Send it in parts.');
  if (tags.longest > MAX_TAG_CHARACTERS)
    throw new SourceListError(`The list has a tag or text of more than ${MAX_TAG_CHARACTERS} characters.`);
}

/** Whether a tag ends with `/>` directly behind an attribute without quotes, as in `<outline url=http://a.example/>`. */
function isSelfClosedWithoutQuotes(
  text: string,
  end: number,
  attributes: Readonly<Record<string, string>>,
): boolean {
  const last = Object.values(attributes).at(-1);
  return /[^\s"']\/$/.test(text.slice(end - 2, end)) && last !== undefined && last.endsWith('/');
}

function readOutline(
  attributes: Readonly<Record<string, string>>,
  endsWithSlash: boolean,
  tags: readonly string[],
): { entry?: Omit<ListedEntry, 'line'>; inner: readonly string[] } {
  const values = Object.entries(attributes).map(([name, value], index, all): [string, string] => [
    name.toLowerCase(),
    (endsWithSlash && index === all.length - 1 ? value.slice(0, -1) : value).trim(),
  ]);
  const valueOf = new Map(values.reverse());
  const name = valueOf.get('title') || valueOf.get('text') || '';
  const url = URL_ATTRIBUTES.map((key) => valueOf.get(key)).find(Boolean);
  if (url !== undefined) return { entry: { url, fields: { name, tags: [...tags] } }, inner: tags };
  return { inner: name !== '' && !tags.includes(name) ? [...tags, name] : tags };
}
