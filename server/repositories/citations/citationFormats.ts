import { Parser } from 'htmlparser2';
import { at, doiIn, fields, firstText, list, orcidIn, plainText, textOf } from '../fields.ts';

/** One entry of a file of citations. The texts are not cut to what a pack may have. */
export interface Citation {
  /** `dataset` for data and software, which a pack is made of; `text` for what a pack belongs to. */
  kind: 'dataset' | 'text';
  title: string;
  authors: { name: string; orcid: string | null; affiliation: string }[];
  summary: string;
  keywords: string[];
  doi: string | null;
  year: string | null;
}

/** The file is not of the format; the message is a sentence. */
export class InvalidCitationsError extends Error {
  override name = 'InvalidCitationsError';
}

/** What was read, and what could not be. */
export interface ReadCitations {
  citations: Citation[];
  warnings: string[];
}

const ORCID =
  /\s*[[({]?\s*(?:orcid:?\s*)?(?:https?:\/\/orcid\.org\/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])\s*[\])}]?/i;

/** Splits off an ORCID iD that somebody wrote behind a name. The iD is not checked. */
export function nameAndOrcid(text: string): { name: string; orcid: string | null } {
  const found = ORCID.exec(text.slice(0, 1_000));
  if (!found) return { name: text.trim(), orcid: null };
  return { name: text.replace(found[0], '').trim(), orcid: found[1]?.toUpperCase() ?? null };
}

/** Returns the DOI of a text that is one, or the address of one: some have it percent-encoded, or without `https://`. */
export function doiOfReference(text: string): string | null {
  const resolver = /^(?:https?:\/\/)?(?:dx\.|www\.)?doi\.org\/(.{1,2000})$/i.exec(text.trim())?.[1];
  if (resolver === undefined) return doiIn(text.trim().replace(/^doi\s*:?\s*(?=10\.)/i, ''));
  return doiIn(unescapedPath(resolver)) ?? doiIn(resolver);
}

function unescapedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    // Its percent signs are no codes.
    if (error instanceof URIError) return path;
    throw error;
  }
}

/** Returns the year in a date of any form. */
export function yearIn(date: string): string | null {
  return /(?:^|\D)(\d{4})(?:\D|$)/.exec(date.slice(0, 100))?.[1] ?? null;
}

/** Splits keywords that are written in one text. */
export function splitKeywords(text: string): string[] {
  const separator = text.includes(';') ? ';' : /[,\n]/;
  return text.split(separator).map((word) => word.trim());
}

/** Whether a type, in the words of any of the formats, is of data or software. */
export function kindOf(type: string): Citation['kind'] {
  return /^(data(set)?|software|comp|computerprogram|misc-dataset|dataset|aggr|dbase)$/i.test(type.trim())
    ? 'dataset'
    : 'text';
}

/**
 * Reads CSL-JSON: a list of items, one item, or an object with `items`.
 *
 * Source: https://github.com/citation-style-language/schema/blob/master/schemas/input/csl-data.json
 *
 * @throws InvalidCitationsError
 */
export function readCslJson(text: string): ReadCitations {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new InvalidCitationsError(
      `It is not JSON: ${error instanceof Error ? error.message.slice(0, 100) : ''}`,
    );
  }
  const items = list(at(json, 'items') ?? json).map(fields);
  const citations = items
    .filter((item) => textOf(item.title) !== '' || item.type !== undefined)
    .map(citationOfItem);
  if (citations.length === 0) throw new InvalidCitationsError('It has no item with a title.');
  return { citations, warnings: leftOut(items.length - citations.length) };
}

function citationOfItem(item: Record<string, unknown>): Citation {
  return {
    kind: kindOf(textOf(item.type)),
    title: plainText(item.title),
    authors: list(item.author).map(authorOf),
    summary: plainText(item.abstract),
    keywords: list(item.keyword).flatMap((words) => splitKeywords(textOf(words))),
    doi: doiOfReference(firstText(item.DOI, item.doi)) ?? doiOfReference(textOf(item.URL)),
    year: yearIn(
      firstText(
        list(list(at(item.issued, 'date-parts'))[0])[0],
        at(item.issued, 'raw'),
        at(item.issued, 'literal'),
      ),
    ),
  };
}

function authorOf(author: unknown): Citation['authors'][number] {
  const value = (name: string) => textOf(at(author, name));
  const family = [value('non-dropping-particle'), value('family')].filter(Boolean).join(' ');
  const given = [value('given'), value('dropping-particle')].filter(Boolean).join(' ');
  const name = [family, given, value('suffix')].filter(Boolean).join(', ');
  const affiliation = list(at(author, 'affiliation'))
    .map((one) => (typeof one === 'string' ? one : textOf(at(one, 'name'))))
    .filter(Boolean)
    .join('; ');
  const written = nameAndOrcid(firstText(name, value('literal'), value('name')));
  return {
    name: written.name,
    orcid:
      orcidIn(firstText(at(author, 'ORCID'), at(author, 'orcid'), at(author, '_orcid'))) ?? written.orcid,
    affiliation,
  };
}

/** Says how many items were left out, if any. */
function leftOut(items: number): string[] {
  if (items === 0) return [];
  return [
    items === 1 ? 'An item without a title was left out.' : `${items} items without a title were left out.`,
  ];
}

const LINE = /^([A-Z][A-Z0-9]) {1,3}- ?(.*)$/;

/**
 * Reads RIS. Lines without a tag continue the one before them, because some programs break long values.
 *
 * Source: https://en.wikipedia.org/wiki/RIS_(file_format), the specification of 2011
 *
 * @throws InvalidCitationsError
 */
export function readRis(text: string): Citation[] {
  const citations: Citation[] = [];
  let entry: Map<string, string[]> | undefined;
  let last: string[] | undefined;
  for (const line of text.split(/\r\n?|\n/)) {
    const [, tag, value = ''] = LINE.exec(line) ?? [];
    if (tag === 'TY') {
      if (entry) citations.push(citationOfRis(entry));
      entry = new Map();
    }
    if (tag === 'ER') {
      if (entry) citations.push(citationOfRis(entry));
      entry = undefined;
      last = undefined;
    } else if (entry && tag !== undefined) {
      last = entry.get(tag) ?? [];
      entry.set(tag, last);
      last.push(value.trim());
    } else if (entry && last && line.trim() !== '') last.push(`${last.pop() ?? ''}\n${line.trim()}`);
  }
  if (entry) citations.push(citationOfRis(entry));
  if (citations.length === 0) throw new InvalidCitationsError('It has no line that begins with “TY  -”.');
  return citations;
}

function citationOfRis(entry: ReadonlyMap<string, string[]>): Citation {
  const all = (...tags: string[]) => tags.flatMap((tag) => entry.get(tag) ?? []);
  const first = (...tags: string[]) => all(...tags).find((value) => value !== '') ?? '';
  const joined = (value: string) => value.replace(/\s*\n\s*/g, ' ');
  return {
    kind: kindOf(first('TY')),
    title: joined(first('TI', 'T1', 'CT', 'BT')),
    authors: all('AU', 'A1').map((author) => ({ ...nameAndOrcid(joined(author)), affiliation: '' })),
    summary: joined(first('AB', 'N2')),
    keywords: all('KW').flatMap((words) =>
      words.includes('\n') || words.includes(';') ? splitKeywords(words) : [words],
    ),
    doi:
      all('DO', 'UR', 'M3', 'L3')
        .map(doiOfReference)
        .find((doi) => doi !== null) ?? null,
    year: yearIn(first('PY', 'Y1', 'DA')),
  };
}

/** An element of XML. Names are without their prefixes, which programs choose. */
interface Element {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: Element[];
  text: string;
}

const MAX_ELEMENTS = 300_000;
const MAX_DEPTH = 50;
/** What is in a file besides items. */
const NO_ITEM = /^(Attachment|Memo|Collection|Journal|Series)$/;

/**
 * Reads the RDF that Zotero exports. It is read as the XML that Zotero writes, not as a graph.
 *
 * Source: the translator “Zotero RDF” (https://github.com/zotero/translators)
 *
 * @throws InvalidCitationsError
 */
export function readZoteroRdf(text: string): ReadCitations {
  const root = parseXml(text);
  const rdf = root.name === 'RDF' ? root : root.children.find(({ name }) => name === 'RDF');
  if (!rdf) throw new InvalidCitationsError('It has no element rdf:RDF.');
  const byAddress = new Map(rdf.children.map((element) => [aboutOf(element), element]));
  // What another item is part of is a container, whatever its class; one that is an item of its own has a type.
  const containers = new Set(
    rdf.children
      .flatMap((element) => childrenOf(element, 'isPartOf'))
      .map((part) => attributeOf(part, 'resource')),
  );
  const isItem = (element: Element) =>
    !NO_ITEM.test(element.name) &&
    textIn(element, 'itemType') !== 'attachment' &&
    (textIn(element, 'itemType') !== '' || !containers.has(aboutOf(element)));
  const read = rdf.children.filter(isItem).map((element) => citationOfElement(element, byAddress));
  const citations = read.filter(({ title }) => title !== '');
  if (citations.length === 0) throw new InvalidCitationsError('It has no item with a title.');
  return { citations, warnings: leftOut(read.length - citations.length) };
}

function parseXml(text: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open: Element[] = [root];
  let count = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        count += 1;
        if (count > MAX_ELEMENTS || open.length > MAX_DEPTH)
          throw new InvalidCitationsError('It has too many elements, or they are nested too deeply.');
        const element: Element = { name: localName(name), attributes, children: [], text: '' };
        open.at(-1)?.children.push(element);
        open.push(element);
      },
      ontext(piece) {
        const element = open.at(-1);
        if (element) element.text += piece;
      },
      onclosetag() {
        if (open.length > 1) open.pop();
      },
    },
    { xmlMode: true },
  );
  parser.end(text);
  return root;
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function attributeOf({ attributes }: Element, wanted: string): string {
  for (const [name, value] of Object.entries(attributes)) if (localName(name) === wanted) return value;
  return '';
}

function aboutOf(element: Element): string {
  return attributeOf(element, 'about');
}

function childrenOf(element: Element, name: string): Element[] {
  return element.children.filter((child) => child.name === name);
}

/** Returns the text of the first child of a name, without that of its own children. */
function textIn(element: Element, name: string): string {
  return childrenOf(element, name)[0]?.text.trim() ?? '';
}

function citationOfElement(item: Element, byAddress: ReadonlyMap<string, Element>): Citation {
  // The DOI of an article is with the journal that it is part of.
  const containers = childrenOf(item, 'isPartOf').flatMap((part) => [
    ...part.children,
    ...((byAddress.get(attributeOf(part, 'resource')) ?? null)
      ? [byAddress.get(attributeOf(part, 'resource')) as Element]
      : []),
  ]);
  return {
    kind: kindOf(textIn(item, 'itemType')),
    title: textIn(item, 'title'),
    authors: ['authors', 'inventors', 'programmers', 'contributors', 'creators']
      .flatMap((role, index, roles) =>
        index === 0 || !hasAny(item, roles.slice(0, index)) ? peopleOf(item, role) : [],
      )
      .filter(({ name }) => name !== ''),
    summary: plainText(textIn(item, 'abstract')),
    keywords: childrenOf(item, 'subject').flatMap(keywordsOf),
    doi: doiOfItem([item, ...containers]) ?? doiOfReference(aboutOf(item)),
    year: yearIn(textIn(item, 'date') || textIn(item, 'issued')),
  };
}

function hasAny(item: Element, roles: readonly string[]): boolean {
  return roles.some((role) => childrenOf(item, role).length > 0);
}

function peopleOf(item: Element, role: string): Citation['authors'] {
  return childrenOf(item, role)
    .flatMap((list) => childrenOf(list, 'Seq'))
    .flatMap((seq) => childrenOf(seq, 'li'))
    .flatMap((li) => childrenOf(li, 'Person'))
    .map((person) => {
      const given = textIn(person, 'givenName') || textIn(person, 'givenname');
      const name = [textIn(person, 'surname') || textIn(person, 'name'), given].filter(Boolean).join(', ');
      const ids = [
        aboutOf(person),
        ...person.children.flatMap((child) => [child.text, attributeOf(child, 'resource')]),
      ];
      return { name, orcid: ids.map(orcidIn).find((orcid) => orcid !== null) ?? null, affiliation: '' };
    });
}

/** A tag of the person is a text; one that Zotero found is an element with a value. */
function keywordsOf(subject: Element): string[] {
  const tags = subject.children.map((tag) => textIn(tag, 'value'));
  const own = subject.text.trim();
  return own === ''
    ? tags
    : [
        ...tags,
        ...splitKeywords(own.includes(';') ? own : own.replaceAll(',', '\u201a')).map((word) =>
          word.replaceAll('\u201a', ','),
        ),
      ];
}

function doiOfItem(elements: readonly Element[]): string | null {
  for (const element of elements)
    for (const { text, children } of childrenOf(element, 'identifier')) {
      const stated = [text, ...children.map((child) => textIn(child, 'value'))];
      for (const one of stated) {
        const doi = doiOfReference(one);
        if (doi !== null) return doi;
      }
    }
  return null;
}
