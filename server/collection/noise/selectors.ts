import type { CheerioAPI } from 'cheerio';
import { load } from 'cheerio/slim';
// The package has no named exports for Node, and no default export for the bundler.
import * as fontoxpath from 'fontoxpath';
import { JSONPathEnvironment, type JSONPathQuery } from 'json-p3';
import { BLOCK_ELEMENT, UNSEEN_ELEMENT } from '../../../shared/collection/chooserLimits.ts';
import type { Selector } from '../../../shared/collection/noise.ts';
import { foldedText } from '../../../shared/values/text.ts';
import { TimeLimitError, withTimeLimit } from '../derived/limits.ts';

/** A node of a parsed document, as far as it is read here. */
export interface MarkupNode {
  type: string;
  name?: string;
  data?: string;
  attribs?: Record<string, string>;
  parent?: MarkupNode | null;
  prev?: MarkupNode | null;
  next?: MarkupNode | null;
  children?: MarkupNode[];
}

/** A parsed HTML or XML document. */
interface MarkupDocument {
  $: CheerioAPI;
  root: MarkupNode;
  isXml: boolean;
}

export function parseMarkup(text: string, isXml: boolean): MarkupDocument {
  const $ = load(text, isXml ? { xml: true } : {});
  return { $, root: $.root()[0] as unknown as MarkupNode, isXml };
}

/** Whether selectors of a kind name elements: of HTML, or also of XML. */
export function selectsElements(kind: Selector['kind'], isXml: boolean): boolean {
  if (kind === 'selector' || kind === 'xpath') return true;
  return !isXml && (kind === 'heading' || kind === 'table');
}

/** Returns the nodes that a selector matches, in document order. A node within another matching node is left out. */
export function findNodes(document: MarkupDocument, selector: Selector): MarkupNode[] {
  return outermost(document.root, namedNodes(document, selector));
}

function namedNodes(document: MarkupDocument, { kind, value, columns }: Selector): MarkupNode[] {
  switch (kind) {
    case 'selector':
      return bySelector(document, value);
    case 'xpath':
      return byXPath(document.root, value);
    case 'heading':
      return afterHeading(document, value);
    case 'table':
      return inTable(document, value, columns);
    default:
      return [];
  }
}

function bySelector({ $ }: MarkupDocument, value: string): MarkupNode[] {
  return $.root().find(value).toArray() as unknown as MarkupNode[];
}

const { evaluateXPathToNodes } =
  'default' in fontoxpath ? (fontoxpath.default as typeof fontoxpath) : fontoxpath;

/** Lets XPath read the parsed document. The namespace of a name is its prefix as written: pages declare few of them. */
const FACADE = {
  getAllAttributes: ({ attribs = {} }: MarkupNode) =>
    Object.entries(attribs).map(([name, value]) => ({ nodeType: 2, name, value, ...nameParts(name) })),
  getAttribute: ({ attribs = {} }: MarkupNode, name: string) =>
    Object.hasOwn(attribs, name) ? (attribs[name] ?? null) : null,
  getChildNodes: ({ children = [] }: MarkupNode) => children,
  getData: (node: MarkupNode & { value?: string }) => node.data ?? node.value ?? '',
  getFirstChild: ({ children }: MarkupNode) => children?.[0] ?? null,
  getLastChild: ({ children }: MarkupNode) => children?.at(-1) ?? null,
  getNextSibling: ({ next }: MarkupNode) => next ?? null,
  getParentNode: ({ parent }: MarkupNode) => parent ?? null,
  getPreviousSibling: ({ prev }: MarkupNode) => prev ?? null,
};

function nameParts(nodeName: string) {
  const [localName = '', prefix] = nodeName.split(':').reverse();
  return { nodeName, localName, prefix: prefix ?? '', namespaceURI: prefix ?? null };
}

function byXPath(root: MarkupNode, value: string): MarkupNode[] {
  for (const node of walk(root)) if (node.attribs) Object.assign(node, nameParts(node.name ?? ''));
  const found = evaluateXPathToNodes(value, root, FACADE as never, null, {
    namespaceResolver: (prefix) => prefix || null,
  }) as unknown as MarkupNode[];
  // An attribute is not a part of its own.
  return found.filter(({ type }) => type !== undefined);
}

const HEADING = /^h[1-6]$/;

/** Returns a heading and what follows it until the next heading of its level or above. */
function afterHeading({ $, root }: MarkupDocument, value: string): MarkupNode[] {
  const wanted = foldedText(value);
  for (const heading of walk(root)) {
    if (!HEADING.test(heading.name ?? '') || foldedText($(heading as never).text()) !== wanted) continue;
    const level = Number(heading.name?.slice(1));
    const ends = (node: MarkupNode) => {
      for (const inner of walk(node))
        if (HEADING.test(inner.name ?? '') && Number(inner.name?.slice(1)) <= level) return true;
      return false;
    };
    const found = [wrapped(heading)];
    for (let next = found[0]?.next; next && !ends(next); next = next.next) found.push(next);
    return found;
  }
  return [];
}

/** Returns the outermost element that is around the heading alone: many pages wrap their headings, with an edit link. */
function wrapped(heading: MarkupNode): MarkupNode {
  let node = heading;
  while (node.parent?.attribs && !/^(body|html)$/.test(node.parent.name ?? '') && isAlone(node))
    node = node.parent;
  return node;
}

/** Whether there is no text and no block beside a node. */
function isAlone(node: MarkupNode): boolean {
  const others = node.parent?.children?.filter((child) => child !== node) ?? [];
  return others.every((other) => {
    if (other.type === 'text') return other.data?.trim() === '';
    for (const { name } of walk(other)) if (BLOCK.test(name ?? '')) return false;
    return true;
  });
}

const BLOCK = /^(article|blockquote|div|dl|figure|form|h[1-6]|ol|p|pre|section|table|ul)$/;

/** Returns a table, or the cells of some of its columns. All columns must be there. */
function inTable(document: MarkupDocument, value: string, columns: readonly string[] | undefined) {
  const table = tableNamed(document, value);
  if (!table || !columns) return table ? [table] : [];
  const rows = [...walk(table)].filter(({ name }) => name === 'tr').map(placedCells);
  const header = rows.find((cells) => cells.length > 0) ?? [];
  const places = columnPlaces(
    header.map(({ cell }) => document.$(cell as never).text()),
    columns,
  );
  const wanted = new Set(places?.map((index) => header[index]?.place));
  return rows.flatMap((cells) => cells.filter(({ place }) => wanted.has(place)).map(({ cell }) => cell));
}

function tableNamed(document: MarkupDocument, value: string): MarkupNode | undefined {
  const tables = [...walk(document.root)].filter(({ name }) => name === 'table');
  const wanted = foldedText(value);
  const captioned = tables.find((table) => {
    const caption = table.children?.find(({ name }) => name === 'caption');
    return caption && foldedText(document.$(caption as never).text()) === wanted;
  });
  if (captioned) return captioned;
  if (/^\d+$/.test(value)) return tables[Number(value) - 1];
  return isSelector(value) ? bySelector(document, value).find(({ name }) => name === 'table') : undefined;
}

/** The cells of a row, with the column in which each begins. */
function placedCells({ children = [] }: MarkupNode): { cell: MarkupNode; place: number }[] {
  let place = 0;
  return children
    .filter(({ name }) => name === 'td' || name === 'th')
    .map((cell) => {
      const placed = { cell, place };
      place += Math.min(1_000, Math.max(1, Number.parseInt(cell.attribs?.colspan ?? '1', 10) || 1));
      return placed;
    });
}

/** Returns the positions of columns by their names; undefined if one of them is missing. */
export function columnPlaces(header: readonly string[], columns: readonly string[]): number[] | undefined {
  const names = header.map(foldedText);
  const places = columns.map((name) => names.indexOf(foldedText(name)));
  return places.includes(-1) ? undefined : places;
}

/** Walks a tree in document order. Not recursive, because a hostile document can be arbitrarily deep. */
function* walk(root: MarkupNode): Generator<MarkupNode> {
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    yield node;
    for (let at = (node.children?.length ?? 0) - 1; at >= 0; at -= 1)
      open.push(node.children?.[at] as MarkupNode);
  }
}

/** Yields the texts that are shown within nodes, in document order, and a line end where a block begins and ends. */
export function* shownTexts(nodes: readonly MarkupNode[]): Generator<MarkupNode> {
  const open = nodes.toReversed();
  for (let node = open.pop(); node; node = open.pop()) {
    if (node.type === 'text') yield node;
    if (UNSEEN_ELEMENT.test(node.name ?? '')) continue;
    if (BLOCK_ELEMENT.test(node.name ?? '')) {
      const lineEnd = { type: 'text', data: '\n', parent: node };
      yield lineEnd;
      open.push(lineEnd);
    }
    for (let at = (node.children?.length ?? 0) - 1; at >= 0; at -= 1)
      open.push(node.children?.[at] as MarkupNode);
  }
}

/** Returns the nodes that are not inside another one of them, in document order. */
function outermost(root: MarkupNode, nodes: readonly MarkupNode[]): MarkupNode[] {
  const wanted = new Set(nodes);
  const found: MarkupNode[] = [];
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    if (wanted.has(node)) found.push(node);
    else for (const child of (node.children ?? []).toReversed()) open.push(child);
  }
  return found;
}

/** What is kept of a document: nodes with everything in them, and what they are in. */
export class KeptNodes {
  readonly #kept: ReadonlySet<MarkupNode>;
  readonly #around = new Set<MarkupNode>();

  constructor(nodes: readonly MarkupNode[]) {
    this.#kept = new Set(nodes);
    for (const node of nodes)
      for (let above = node.parent; above && !this.#around.has(above); above = above.parent)
        this.#around.add(above);
  }

  /** Whether a node is kept, is in one that is, or has one in it. */
  touches(node: MarkupNode): boolean {
    if (this.#around.has(node)) return true;
    for (let at: MarkupNode | null | undefined = node; at; at = at.parent)
      if (this.#kept.has(at)) return true;
    return false;
  }

  /** Removes everything else, and the attributes of what is around. The document can only be written afterwards. */
  prune({ root }: MarkupDocument): void {
    const open = [root];
    for (let node = open.pop(); node; node = open.pop()) {
      if (node.attribs) node.attribs = {};
      // Removing one child after the other takes quadratic time.
      node.children = (node.children ?? []).filter(
        (child) => this.#kept.has(child) || this.#around.has(child),
      );
      for (const child of node.children) if (!this.#kept.has(child)) open.push(child);
    }
  }
}

/**
 * Compiles a regular expression with the flags `g` and `m`. Uses Unicode mode (`u`), or legacy mode if the pattern is
 * invalid in Unicode mode.
 *
 * @throws SyntaxError
 */
export function compilePattern(value: string): RegExp {
  try {
    return new RegExp(value, 'gmu');
  } catch (error) {
    if (error instanceof SyntaxError) return new RegExp(value, 'gm');
    throw error;
  }
}

/** Deeper than `parseJson` allows JSON to be nested, so that `..` reaches every value. */
const environment = new JSONPathEnvironment({ maxRecursionDepth: 600 });

/** Compiles a JSONPath query (RFC 9535). @throws an Error with the position of the mistake. */
export function compilePath(value: string): JSONPathQuery {
  return environment.compile(value);
}

function isSelector(value: string): boolean {
  try {
    load('<p></p>').root().find(value);
    return true;
  } catch {
    // The library throws errors of several kinds; all mean that this is not a selector.
    return false;
  }
}

/** An XPath may also count to a thousand million. */
const COMPILE_MS = 250;
/** The time for all selectors of a source together. */
const ALL_MS = 1_000;

const COMPILERS: Record<Selector['kind'], (value: string, ms: number) => unknown> = {
  selector: (value) => load('<p></p>').root().find(value),
  xpath: (value, ms) => withTimeLimit(ms, () => byXPath(parseMarkup('<p></p>', false).root, value)),
  pattern: compilePattern,
  json_path: compilePath,
  heading: () => {},
  table: () => {},
  region: () => {},
};

/** The first of some selectors that cannot be used: its value is not valid for its kind, or takes too long. */
export interface InvalidSelector {
  index: number;
  isSlow: boolean;
}

/** Looks for a selector that cannot be used. Takes up to a second, so it runs in a thread. */
export function findInvalid(selectors: readonly Selector[]): InvalidSelector | undefined {
  const until = performance.now() + ALL_MS;
  for (const [index, { kind, value }] of selectors.entries()) {
    const left = until - performance.now();
    if (left <= 0) return { index, isSlow: true };
    try {
      COMPILERS[kind](value, Math.min(COMPILE_MS, left));
    } catch (error) {
      // Each library throws its own errors; all mean that the value is invalid.
      return { index, isSlow: error instanceof TimeLimitError };
    }
  }
  return undefined;
}
