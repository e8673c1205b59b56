import { MAX_CANDIDATES, MAX_COMPARED_TEXT } from '../../shared/collection/chooserLimits.ts';
import type { Watch } from '../../shared/collection/noise.ts';
import { lineOf, nameOf, page, textOf } from './page.ts';

/** Longer names are no use to anybody, and a hostile page may have some of a megabyte. */
const MAX_NAME = 100;
/** The longest value of a watched part. */
const MAX_VALUE = 1_000;
const MAX_CLASSES = 12;

/** Names that programs make anew at each build or request. */
const MADE = /\d{4,}|[0-9a-f]{8,}|^(ember|ext-|react-|radix-|yui|:r|__)|[-_][A-Za-z0-9]*\d[A-Za-z0-9]{4,}$/i;
/** Attributes that say what an element is. */
const ATTRIBUTES = [
  'data-testid',
  'data-test',
  'data-id',
  'itemprop',
  'property',
  'name',
  'aria-label',
] as const;

/** Returns ways to name an element, the most lasting first, and the beginning of its text without white space. */
export function describe(element: Element): { candidates: Watch[]; text: string } {
  const lasting = lastingSelectors(element);
  const heading = headingOf(element);
  const tables = tablesOf(element);
  const isHeading = heading?.contains(element) ?? false;
  const headings: Watch[] = heading ? [{ heading: lineOf(heading, MAX_VALUE) }] : [];
  const candidates: Watch[] = [
    ...(isHeading ? headings : []),
    ...tables,
    ...[...lasting, ...paths(element)].map((css) => ({ css })),
    ...(isHeading ? [] : headings),
  ];
  return {
    candidates: candidates.filter(isShort).slice(0, MAX_CANDIDATES),
    text: textOf(element, MAX_COMPARED_TEXT * 40)
      .replace(/\s+/g, '')
      .slice(0, MAX_COMPARED_TEXT),
  };
}

function isShort(watch: Watch): boolean {
  return Object.values(watch).every(
    (value) => typeof value !== 'string' || (value !== '' && value.length <= MAX_VALUE),
  );
}

function isLasting(name: string | null): name is string {
  return name !== null && name !== '' && name.length <= MAX_NAME && !MADE.test(name);
}

/** Selectors by the id, the classes or an attribute of an element, each of which names it alone. */
function lastingSelectors(element: Element): string[] {
  const name = nameOf(element);
  const found = [idSelector(element)].filter((selector) => selector !== undefined);
  for (const attribute of ATTRIBUTES) {
    const value = element.getAttribute(attribute);
    if (isLasting(value)) found.push(`${name}[${attribute}="${CSS.escape(value)}"]`);
  }
  const classes = (element.getAttribute('class') ?? '').slice(0, MAX_VALUE).split(/\s+/).filter(isLasting);
  for (const each of classes.slice(0, MAX_CLASSES)) found.push(`${name}.${CSS.escape(each)}`);
  return found.filter((selector) => isAlone(selector, element));
}

function idSelector(element: Element): string | undefined {
  const id = element.getAttribute('id');
  if (!isLasting(id)) return undefined;
  return `#${CSS.escape(id)}`;
}

/** Whether a selector names an element and no other. Renamed elements are not found here: the node tries each again. */
function isAlone(selector: string, element: Element): boolean {
  const found = page.findAll(selector);
  return found.length === 1 ? found[0] === element : found.length === 0;
}

/** The longest path, in elements. */
const MAX_STEPS = 40;

/** Selectors by the place of an element: from the nearest element with a name, then from the body, then without it. */
function paths(element: Element): string[] {
  const steps: string[] = [];
  const found: string[] = [];
  let at: Element | null = element;
  while (at && at !== page.root && nameOf(at) !== 'body' && steps.length < MAX_STEPS) {
    const named: string | undefined = at === element ? undefined : lastingSelectors(at)[0];
    if (named !== undefined) {
      found.push(joined([named, ...steps]));
      break;
    }
    if (!isImplied(at)) steps.unshift(stepOf(at));
    at = at.parentElement;
  }
  if (found.length === 0 && at && nameOf(at) === 'body') found.push(joined(['body', ...steps]));
  found.push(joined(steps));
  return found.filter((selector) => selector !== '');
}

/** Rows of a table may be in a body that only the parser of a browser adds, so they are named without it. */
function joined(steps: readonly string[]): string {
  return steps.reduce(
    (path, step) => path + (path === '' ? '' : /^tr\b/.test(step) ? ' ' : ' > ') + step,
    '',
  );
}

function isImplied(element: Element): boolean {
  const { parentElement } = element;
  if (element.localName !== 'tbody' || !parentElement) return false;
  return [...parentElement.children].filter(({ localName }) => localName === 'tbody').length === 1;
}

function stepOf(element: Element): string {
  const name = nameOf(element);
  let place = 1;
  for (let before = element.previousElementSibling; before; before = before.previousElementSibling)
    if (nameOf(before) === name) place += 1;
  let next = element.nextElementSibling;
  while (next && nameOf(next) !== name) next = next.nextElementSibling;
  return place === 1 && !next ? name : `${name}:nth-of-type(${place})`;
}

/** How many elements are looked at for a heading. */
const MAX_LOOKED_AT = 3_000;

/** Returns the heading that an element is in or follows. */
function headingOf(element: Element): Element | undefined {
  const own = element.closest('h1, h2, h3, h4, h5, h6');
  if (own) return own;
  let left = MAX_LOOKED_AT;
  for (let at: Element | null = element; at && at !== page.root; at = at.parentElement)
    for (let before = at.previousElementSibling; before && left > 0; before = before.previousElementSibling) {
      left -= 1;
      const found = /^h[1-6]$/.test(before.localName) ? before : lastHeadingIn(before);
      if (found) return found;
    }
  return undefined;
}

/** Many pages wrap their headings: in a few elements, not in a whole column. */
function lastHeadingIn({ children }: Element): Element | undefined {
  if (children.length > 5) return undefined;
  return [...children].findLast(({ localName }) => /^h[1-6]$/.test(localName));
}

/** Returns the table that an element is in, first its column if it is in one that has a name. */
function tablesOf(element: Element): Watch[] {
  const table = element.closest('table');
  if (!table) return [];
  const caption = [...table.children].find(({ localName }) => localName === 'caption');
  const words = caption ? lineOf(caption, 200) : '';
  const number = Array.prototype.indexOf.call(page.findAll('table'), table) + 1;
  const name = words || lastingSelectors(table)[0] || number;
  const column = columnOf(element, table);
  return [...(column === undefined ? [] : [{ table: name, columns: [column] }]), { table: name }];
}

const MAX_COLUMNS = 1_000;

/** Returns the name of the column that an element is in; undefined if it has none. */
function columnOf(element: Element, table: Element): string | undefined {
  const cell = element.closest('td, th');
  if (!cell || cell.closest('table') !== table) return undefined;
  const place = columnBegin(cell);
  const header = table.querySelector('tr');
  for (const named of [...(header?.children ?? [])].slice(0, MAX_COLUMNS))
    if (columnBegin(named) === place) return lineOf(named, 200) || undefined;
  return undefined;
}

/** The column in which a cell begins, from 0. */
function columnBegin(cell: Element): number {
  let place = 0;
  for (let before = cell.previousElementSibling; before; before = before.previousElementSibling)
    place += Math.min(
      MAX_COLUMNS,
      Math.max(1, Number.parseInt(before.getAttribute('colspan') ?? '1', 10) || 1),
    );
  return place;
}
