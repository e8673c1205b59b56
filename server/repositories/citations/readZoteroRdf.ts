import { Parser } from 'htmlparser2';
import { doiIn, orcidIn, plainText } from '../fields.ts';
import { type Citation, InvalidCitationsError, kindOf, splitKeywords, yearIn } from './citation.ts';

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
export function readZoteroRdf(text: string): Citation[] {
  const root = parseXml(text);
  const rdf = root.name === 'RDF' ? root : root.children.find(({ name }) => name === 'RDF');
  if (!rdf) throw new InvalidCitationsError('It has no element rdf:RDF.');
  const byAddress = new Map(rdf.children.map((element) => [aboutOf(element), element]));
  const citations = rdf.children
    .filter((element) => !NO_ITEM.test(element.name) && textIn(element, 'itemType') !== 'attachment')
    .map((element) => citationOf(element, byAddress))
    .filter(({ title }) => title !== '');
  if (citations.length === 0) throw new InvalidCitationsError('It has no item with a title.');
  return citations;
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

function citationOf(item: Element, byAddress: ReadonlyMap<string, Element>): Citation {
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
    doi: doiOfItem([item, ...containers]) ?? doiIn(aboutOf(item)),
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
        const doi = doiIn(one.trim().replace(/^DOI:?\s*/i, ''));
        if (doi !== null) return doi;
      }
    }
  return null;
}
