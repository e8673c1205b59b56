import { load } from 'cheerio';
import { locatePassage } from '../../../../shared/findings/anchor.ts';
import type { Passage } from '../../../../shared/findings/finding.ts';
import { type MarkupNode, shownTexts } from '../../noise/selectors.ts';
import { decodeText, readBody } from '../body.ts';
import { type PdfDocument, withPdf } from '../extract/extractText.ts';
import { MAX_BYTES_READ, MAX_MARKUP_CHARACTERS } from '../limits.ts';
import { type InDocument, NotDerivableError, type ObjectToRead } from '../process/tasks.ts';

/**
 * Returns the element of an HTML document, or the box on the page of a PDF, that has a placed passage. Returns neither where
 * the words have no single place there, or where the bytes cannot be read now. Blocks its process; runs in the derive
 * process.
 */
export async function placeInDocument(object: ObjectToRead, passage: Passage): Promise<InDocument> {
  try {
    const { bytes, kind, isCut } = readBody(object, MAX_BYTES_READ);
    if (kind === 'html')
      return domPathOf(decodeText(bytes, object.contentType).slice(0, MAX_MARKUP_CHARACTERS), passage);
    if (kind === 'pdf' && !isCut && passage.page !== null) {
      const { page } = passage;
      return await withPdf(bytes, (document) => boxOf(document, page, passage));
    }
    return {};
  } catch (error) {
    // The text was made before, so the words have their place in it all the same.
    if (error instanceof NotDerivableError) return {};
    throw error;
  }
}

/** Returns the innermost element that contains the whole passage, as an XPath from the root. */
function domPathOf(html: string, passage: Passage): InDocument {
  // Read as the HTML standard says, with the elements that a browser adds, so that the path leads there in a browser.
  const nodes = [...shownTexts([load(html).root()[0] as unknown as MarkupNode])];
  const range = rangeIn(
    nodes.map(({ data = '' }) => data),
    passage,
  );
  const [first, last] = range ? [nodes[range.first], nodes[range.last]] : [];
  if (!first || !last) return {};
  const around = new Set(ancestorsOf(first));
  const innermost = ancestorsOf(last).find((element) => around.has(element));
  const path = innermost && pathOf(innermost);
  return path === undefined ? {} : { dom_path: path };
}

/** The elements around a node, the nearest first. */
function ancestorsOf({ parent }: MarkupNode): MarkupNode[] {
  const found: MarkupNode[] = [];
  for (let at = parent; at?.attribs; at = at.parent) found.push(at);
  return found;
}

/** The longest path that is kept: a hostile document can be arbitrarily deep. */
const MAX_PATH = 2_000;

function pathOf(element: MarkupNode): string | undefined {
  let path = '';
  for (const at of [element, ...ancestorsOf(element)]) {
    const { name } = at;
    let place = 1;
    for (let before = at.prev; before; before = before.prev) if (before.name === name) place += 1;
    path = `/${name}[${place}]${path}`;
    if (path.length > MAX_PATH) return undefined;
  }
  return path;
}

/** Returns the box around the passage on the page where it begins, in points from the lower left corner of the page's coordinates. */
async function boxOf(document: PdfDocument, number: number, passage: Passage): Promise<InDocument> {
  const page = await document.getPage(number);
  const { items } = await page.getTextContent();
  page.cleanup();
  const runs = items.filter((item) => 'str' in item);
  const [exact = ''] = passage.exact.split('\f');
  const range = rangeIn(
    runs.map(({ str, hasEOL }) => (hasEOL ? `${str}\n` : str)),
    { ...passage, exact, suffix: exact === passage.exact ? passage.suffix : '' },
  );
  if (!range) return {};
  const corners = runs.slice(range.first, range.last + 1).flatMap((run, at) => {
    if (run.str.trim() === '') return [];
    const from = at === 0 ? range.from / run.str.length : 0;
    const to = range.first + at === range.last ? range.to / run.str.length : 1;
    return cornersOf(run, Math.min(from, 1), Math.min(to, 1));
  });
  if (corners.length === 0) return {};
  const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
  const [left, bottom] = [Math.min(...xs), Math.min(...ys)];
  const width = Math.max(...xs) - left;
  const height = Math.max(...ys) - bottom;
  if (![left, bottom, width, height].every(Number.isFinite)) return {};
  return { box: { x: rounded(left), y: rounded(bottom), width: rounded(width), height: rounded(height) } };
}

function rounded(points: number): number {
  return Math.round(points * 100) / 100;
}

interface PdfText {
  /** The text matrix: `[a, b, c, d, x, y]` (ISO 32000-1, 9.4.4). */
  transform: number[];
  width: number;
  height: number;
}

/** The corners of a part of a run of text, which may be turned. Letters count as equally wide. */
function cornersOf({ transform, width, height }: PdfText, from: number, to: number) {
  const [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0] = transform;
  const along = unit(a, b);
  const up = unit(c, d);
  return [from, to].flatMap((share) =>
    [0, height].map((rise) => ({
      x: x + along.x * width * share + up.x * rise,
      y: y + along.y * width * share + up.y * rise,
    })),
  );
}

function unit(x: number, y: number): { x: number; y: number } {
  const length = Math.hypot(x, y) || 1;
  return { x: x / length, y: y / length };
}

/** Where a passage is in the pieces of a document: in which it begins and ends, and where in these, in UTF-16 units. */
interface Range {
  first: number;
  from: number;
  last: number;
  to: number;
}

/** Returns undefined if the pieces do not have the passage, or have it at several places. */
function rangeIn(
  texts: readonly string[],
  { exact, prefix, suffix }: Pick<Passage, 'exact' | 'prefix' | 'suffix'>,
): Range | undefined {
  const text = texts.join('');
  // The position is one in the text that was made of the document, where white space is another.
  const located = locatePassage(text, { exact, prefix, suffix, start: null, end: null }, false);
  if (!located) return undefined;
  const characters = Array.from(text);
  const start = characters.slice(0, located.start).join('').length;
  const end = start + characters.slice(located.start, located.end).join('').length;
  let begins = 0;
  let range: Range | undefined;
  for (const [at, { length }] of texts.entries()) {
    const ends = begins + length;
    if (!range && start < ends) range = { first: at, from: start - begins, last: at, to: length };
    if (range && end <= ends) return { ...range, last: at, to: end - begins };
    begins = ends;
  }
  return range;
}
