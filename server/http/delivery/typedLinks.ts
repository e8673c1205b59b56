import type { LinkContext, TypedLink } from '../../archive/citations/signposts.ts';

/** Proxies refuse responses with long headers; nginx reads 4 KiB or 8 KiB of them. */
const MAX_HEADER = 3_000;

/**
 * Returns the value of a `Link` header (RFC 8288), of at most `MAX_HEADER` characters. A relation type that does not fit
 * is omitted with all its links. Pass the most important types first.
 */
export function linkHeader(links: readonly TypedLink[]): string {
  const written: string[] = [];
  let length = 0;
  for (const group of Map.groupBy(links, ({ rel }) => rel).values()) {
    const texts = group.map((link) => linkText(link));
    const added = texts.join(', ').length + 2;
    if (length + added > MAX_HEADER) continue;
    written.push(...texts);
    length += added;
  }
  return written.join(', ');
}

/** Returns a linkset as `application/linkset` (RFC 9264, section 4.1). */
export function linksetText(contexts: readonly LinkContext[]): string {
  const texts = contexts.flatMap(({ anchor, links }) => links.map((link) => linkText(link, anchor)));
  return `${texts.join(',\n')}\n`;
}

/** Returns a linkset as `application/linkset+json` (RFC 9264, section 4.2). */
export function linksetJson(contexts: readonly LinkContext[]): object {
  const linkset = contexts.map(({ anchor, links }) => {
    const byRel = Map.groupBy(links, ({ rel }) => rel);
    const targets = [...byRel].map(([rel, group]) => [rel, group.map(({ rel: _rel, ...target }) => target)]);
    return { anchor, ...(Object.fromEntries(targets) as object) };
  });
  return { linkset };
}

/** Characters that would end a link and begin another. */
const UNSAFE_IN_LINK = /[<>"\s\\^`{|}]/g;

function linkText({ href, rel, type }: TypedLink, anchor?: string): string {
  const encoded = (url: string) => url.replace(UNSAFE_IN_LINK, encodeURIComponent);
  const parameters = { rel, type, anchor: anchor === undefined ? undefined : encoded(anchor) };
  const written = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return [
    `<${encoded(href)}>`,
    ...written.map(([name, value]) => `${name}="${String(value).replace(/["\\]/g, '\\$&')}"`),
  ].join('; ');
}
