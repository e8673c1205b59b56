export interface FeedEntry {
  title: string;
  /** As written in the feed. */
  date: string;
  author: string;
  /** An http or https address, or empty. */
  link: string;
  /** Plain text. */
  summary: string;
}

export interface Feed {
  title: string;
  entries: FeedEntry[];
}

const MAX_SUMMARY_CHARACTERS = 600;

/** Parses an RSS 0.9 to 2.0 or Atom feed. Returns undefined for other XML. Nothing is loaded. */
export function parseFeed(xml: string, base: string): Feed | undefined {
  const document = new DOMParser().parseFromString(xml, 'application/xml');
  const root = document.documentElement;
  if (!['rss', 'feed', 'RDF'].includes(root.localName)) return undefined;
  const channel = childrenOf(root, 'channel')[0] ?? root;
  const items = [channel, root].flatMap((parent) => [
    ...childrenOf(parent, 'item'),
    ...childrenOf(parent, 'entry'),
  ]);
  return {
    title: textOf(channel, 'title'),
    entries: [...new Set(items)].map((item) => entryOf(item, base)),
  };
}

function entryOf(item: Element, base: string): FeedEntry {
  const author = childrenOf(item, 'author')[0];
  return {
    title: plainText(textOf(item, 'title')),
    date: textOf(item, 'pubDate', 'published', 'updated', 'date'),
    author: (author && textOf(author, 'name')) || textOf(item, 'author', 'creator'),
    link: linkOf(item, base),
    summary: plainText(textOf(item, 'description', 'summary', 'content', 'encoded')).slice(
      0,
      MAX_SUMMARY_CHARACTERS,
    ),
  };
}

function linkOf(item: Element, base: string): string {
  const links = childrenOf(item, 'link');
  const link = links.find((one) => (one.getAttribute('rel') ?? 'alternate') === 'alternate') ?? links[0];
  const url = link && URL.parse((link.getAttribute('href') ?? link.textContent ?? '').trim(), base);
  return url && /^https?:$/.test(url.protocol) ? url.href : '';
}

function childrenOf(parent: Element, name: string): Element[] {
  return [...parent.children].filter((child) => child.localName === name);
}

/** Returns the text of the first child with one of these names. */
function textOf(parent: Element, ...names: string[]): string {
  for (const name of names) {
    const text = childrenOf(parent, name)[0]?.textContent?.trim();
    if (text) return text;
  }
  return '';
}

/** Removes markup and decodes character references. */
function plainText(html: string): string {
  // The parser runs and loads nothing, but it reports event handlers, so it gets no tags.
  const { body } = new DOMParser().parseFromString(html.replace(/<[^>]*>/g, ' '), 'text/html');
  return (body.textContent ?? '').replace(/\s+/g, ' ').trim();
}
