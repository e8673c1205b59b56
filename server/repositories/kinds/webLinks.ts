import { Parser } from 'htmlparser2';
import { addressOf, at, fields, list, textOf } from '../fields.ts';
import type { Answer } from '../repository.ts';

/** A typed link (RFC 8288). */
export interface WebLink {
  href: string;
  rel: string;
  type: string;
}

/** What is read from a page in one pass. */
export interface PageHead {
  links: WebLink[];
  /** The texts of its scripts of type `application/ld+json`. */
  jsonLd: string[];
  title: string;
}

const MAX_LINKS = 50_000;
const PARAMETER = ' ?; ?[^ =;,]+ ?(?:= ?(?:"(?:[^"\\\\]|\\\\.)*"|[^ ";,]*))?';
const LINK = new RegExp(` ?,? ?<([^<>]*)>((?:${PARAMETER})*)`, 'y');
const ONE_PARAMETER = / ?; ?([^ =;,]+) ?(?:= ?(?:"((?:[^"\\]|\\.)*)"|([^ ";,]*)))?/g;

/** Reads the values of `Link` headers, or a link set in the same form (RFC 9264, section 4.1). It ends where they are wrong. */
export function parseLinkHeader(values: readonly string[], base: string): WebLink[] {
  return values.flatMap((value) => {
    const links: WebLink[] = [];
    const text = value.replace(/\s+/g, ' ');
    LINK.lastIndex = 0;
    for (let found = LINK.exec(text); found && links.length < MAX_LINKS; found = LINK.exec(text)) {
      const parameters = new Map<string, string>();
      for (const [, name = '', quoted, bare] of (found[2] ?? '').matchAll(ONE_PARAMETER)) {
        const key = name.toLowerCase();
        // The first of several counts (section 3.3).
        if (!parameters.has(key)) parameters.set(key, quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '');
      }
      const anchor = parameters.get('anchor');
      if (anchor === undefined || isSameDocument(anchor, base))
        links.push(...linksOf(found[1], parameters, base));
    }
    return links;
  });
}

function isSameDocument(anchor: string, base: string): boolean {
  return withoutFragment(addressOf(anchor, base) ?? '') === withoutFragment(base);
}

function withoutFragment(url: string): string {
  return url.split('#', 1)[0] ?? '';
}

function linksOf(href: unknown, parameters: { get(name: string): unknown }, base: string): WebLink[] {
  const address = addressOf(href, base);
  if (address === undefined) return [];
  const type = textOf(parameters.get('type')).split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return textOf(parameters.get('rel'))
    .toLowerCase()
    .split(/\s+/)
    .slice(0, 10)
    .map((rel) => ({ href: address, rel, type }));
}

/** Reads a link set in JSON (RFC 9264, section 4.2): the links of a page. */
export function parseLinkSet(json: unknown, anchor: string): WebLink[] {
  return list(at(json, 'linkset'))
    .map(fields)
    .filter((context) => context.anchor === undefined || isSameDocument(textOf(context.anchor), anchor))
    .flatMap((context) =>
      Object.entries(context).flatMap(([rel, targets]) =>
        rel === 'anchor'
          ? []
          : list(targets).flatMap((target) =>
              linksOf(at(target, 'href'), new Map(Object.entries({ ...fields(target), rel })), anchor),
            ),
      ),
    )
    .slice(0, MAX_LINKS);
}

/** Reads the link elements, the title and the JSON-LD of a page. */
export function readHead({ text, finalUrl }: Answer): PageHead {
  const head: PageHead = { links: [], jsonLd: [], title: '' };
  let inside: 'title' | 'json' | undefined;
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'link' && head.links.length < MAX_LINKS)
        head.links.push(...linksOf(attributes.href, new Map(Object.entries(attributes)), finalUrl));
      if (name === 'title' && head.title === '') inside = 'title';
      if (name === 'script' && /^application\/ld\+json\b/i.test(attributes.type ?? '')) {
        inside = 'json';
        head.jsonLd.push('');
      }
    },
    ontext(piece) {
      if (inside === 'title') head.title += piece;
      if (inside === 'json') head.jsonLd.push((head.jsonLd.pop() ?? '') + piece);
    },
    onclosetag(name) {
      if (name === 'title' || name === 'script') inside = undefined;
    },
  });
  parser.end(text);
  return head;
}
