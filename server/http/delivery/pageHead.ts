import { escapeHtml } from '../../html.ts';

/** The metadata in the head of a page. */
export interface PageHead {
  /** The absolute URL of the page. */
  canonical: string;
  /** The path of the Atom feed with the changes that the page shows. */
  feed: string;
  /** The pack or study that the page shows. */
  item?: {
    /** The title of the window. */
    title: string;
    name: string;
    description: string;
    node: string;
    /** A schema.org document. */
    jsonLd: object;
  };
}

/** Search engines show about this many characters. */
const MAX_DESCRIPTION = 300;

/**
 * Returns the elements of a head as HTML. Those about one item have `data-item`, so that the interface can remove them
 * when it shows another page.
 */
export function headHtml({ canonical, feed, item }: PageHead): string {
  const elements = [
    element('link', { rel: 'canonical', href: canonical, 'data-item': '' }),
    element('link', {
      rel: 'alternate',
      type: 'application/atom+xml',
      title: 'Changes of watched sources',
      href: feed,
    }),
  ];
  if (!item) return elements.join('\n    ');
  const description = cut(item.description || item.name, MAX_DESCRIPTION);
  const property = (name: string, content: string) =>
    element('meta', { property: name, content, 'data-item': '' });
  return [
    `<title>${escapeHtml(item.title)}</title>`,
    element('meta', { name: 'description', content: description, 'data-item': '' }),
    property('og:type', 'article'),
    property('og:title', item.name),
    property('og:description', description),
    property('og:url', canonical),
    property('og:site_name', item.node),
    ...elements,
    `<script type="application/ld+json" data-item="">${scriptJson(item.jsonLd)}</script>`,
  ].join('\n    ');
}

/**
 * Inserts a head into the document of the interface. A title in it replaces the document's own title and description.
 */
export function withHead(document: string, head: string): string {
  const own = /\s*<title>[^<]*<\/title>|\s*<meta name="description"[^>]*>/g;
  const kept = head.includes('<title>') ? document.replace(own, '') : document;
  const end = kept.search(/<\/head>/i);
  if (end >= 0) return `${kept.slice(0, end)}  ${head}\n  ${kept.slice(end)}`;
  // A document without tags for its head: what comes after the doctype is its head.
  const start = /^\s*<!doctype[^>]*>/i.exec(kept)?.[0].length ?? 0;
  return `${kept.slice(0, start)}${head}${kept.slice(start)}`;
}

function element(name: string, attributes: Readonly<Record<string, string>>): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeHtml(value)}"`);
  return `<${name}${written.join('')} />`;
}

/** A cut never leaves half of a surrogate pair. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

const UNSAFE = /[<>&\u2028\u2029]/g;

/** Returns JSON that cannot end the script element that contains it, or open a comment in it. */
function scriptJson(value: object): string {
  return JSON.stringify(value).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
