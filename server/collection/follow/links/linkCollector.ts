import mime from 'mime-types';
import { RE2JS } from 're2js';
import { watchedUrlSchema } from '../../../../shared/collection/source.ts';
import type { LinksResult, LinksTask } from '../../derived/process/tasks.ts';

/** The most different addresses that are read from one document. */
const MAX_LISTED = 100_000;
/** The most matching addresses that are returned. */
const MAX_MATCHED = 10_000;
const MAX_TITLE = 200;
/** The most sitemaps that are read from one index. */
const MAX_SITEMAPS = 50;

/** Enough addresses were read: all of the document, or as many as are allowed. */
export class TooManyLinksError extends Error {}

/** Collects the addresses of one document: resolved, without fragments and duplicates, and only those that match. */
export class LinkCollector {
  readonly #task: LinksTask;
  readonly #known: ReadonlySet<string>;
  readonly #linked = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #links = new Map<string, string>();
  readonly #sitemaps = new Set<string>();
  readonly #matches: (url: URL, type: string | undefined) => boolean;
  #isComplete = true;

  constructor(task: LinksTask) {
    this.#task = task;
    this.#known = new Set(task.known);
    this.#matches = matcherOf(task);
  }

  /**
   * Adds an address. Invalid addresses and other schemes than http and https are left out.
   *
   * @param base the address that it is relative to, if not that of the document
   * @throws TooManyLinksError once enough were read.
   */
  add(href: string, { base, title = '', type }: { base?: string; title?: string; type?: string } = {}): void {
    const url = URL.parse(href.trim(), base ?? this.#task.url);
    if (!url || !/^https?:$/.test(url.protocol)) return;
    url.hash = '';
    const { href: address } = url;
    if (address === this.#task.self) return;
    if (!this.#seen.has(address)) {
      if (this.#seen.size >= MAX_LISTED) throw this.stop();
      this.#seen.add(address);
      if (this.#known.has(address)) this.#linked.add(address);
    }
    // An address may be linked again with a title, or with a type that matches.
    if (this.#links.get(address) || !this.#matches(url, type)) return;
    if (!this.#links.has(address) && this.#links.size >= MAX_MATCHED) {
      this.#isComplete = false;
      return;
    }
    if (!watchedUrlSchema.safeParse(address).success) return;
    this.#links.set(address, shortTitle(title));
  }

  /** Adds a sitemap of an index. */
  addSitemap(href: string): void {
    const url = URL.parse(href.trim(), this.#task.url);
    if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return;
    url.hash = '';
    if (this.#sitemaps.size < MAX_SITEMAPS) this.#sitemaps.add(url.href);
    else if (!this.#sitemaps.has(url.href)) this.#isComplete = false;
  }

  /** Records that the rest of the document is not read. */
  stop(): TooManyLinksError {
    this.#isComplete = false;
    return new TooManyLinksError();
  }

  result(): LinksResult {
    return {
      links: [...this.#links].map(([url, title]) => ({ url, title })),
      linked: [...this.#linked],
      sitemaps: [...this.#sitemaps],
      listed: this.#seen.size,
      complete: this.#isComplete,
    };
  }
}

function shortTitle(title: string): string {
  const line = title
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .toWellFormed()
    .trim();
  return Array.from(line).slice(0, MAX_TITLE).join('').trim();
}

function matcherOf({ follow, hosts }: LinksTask): (url: URL, type: string | undefined) => boolean {
  const expression = follow.match === undefined ? undefined : RE2JS.compile(follow.match);
  const hasType = typeMatcher(follow.types);
  return (url, type) => {
    const isWanted = expression ? expression.matcher(url.href).find() : hosts.includes(url.host);
    return isWanted && hasType(url, type);
  };
}

/** Returns whether an address has one of the types: by the type that the document declares, or by its extension. */
function typeMatcher(types: readonly string[] | undefined) {
  if (!types) return () => true;
  const wanted = types.map((type) => type.toLowerCase().replace(/^\./, ''));
  return ({ pathname }: URL, declared: string | undefined) => {
    const extension = /\.([a-z0-9]{1,20})$/i.exec(pathname)?.[1]?.toLowerCase() ?? '';
    const media =
      declared?.split(';', 1)[0]?.trim().toLowerCase() || (extension !== '' && mime.lookup(extension)) || '';
    const others = Object.hasOwn(mime.extensions, media) ? (mime.extensions[media] ?? []) : [];
    return wanted.some((type) => {
      if (type.endsWith('/*')) return media.startsWith(type.slice(0, -1));
      return type.includes('/') ? media === type : extension === type || others.includes(type);
    });
  };
}
