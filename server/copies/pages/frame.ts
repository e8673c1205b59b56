import type { Comparison } from '../../../shared/collection/diff.ts';
import type { SetIndex } from '../../archive/sets/setIndex.ts';
import { Html, html, type Piece } from '../../html.ts';
import type { ComparableEvent } from '../../store/sqlite/collection/timeline/eventNoise.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { FEED, INDEX, listPath, rootFrom, SEARCH, TIMELINE, VERIFY } from './pagePaths.ts';

/** Compares the two versions of an event; undefined if they cannot be compared. */
export type CompareVersions = (event: ComparableEvent) => Promise<Comparison | undefined>;

/** What all pages of a copy depend on. */
export interface PageContext {
  database: ReadDatabase;
  /** The name of the node. */
  node: string;
  /** The verifier key of the node (C2SP signed-note). */
  key: string;
  /** The signed checkpoint that the pages belong to. */
  note: string;
  /** The size of the ledger that the pages show. Nothing that a later entry recorded is shown. */
  size: number;
  /** The address under which readers find the copy, with a slash at its end; null if the owner named none. */
  publicUrl: string | null;
  /** Whether the copy holds an object that readers may read. */
  holds: (sha256: string) => boolean;
  /** Why readers may not read an object, in words; undefined if they may. */
  whyHidden: (sha256: string) => string | undefined;
  compare: CompareVersions;
  /** Returns the files of a set; undefined if a pack is none, or if its list cannot be read. */
  setOf: (id: string) => Promise<SetIndex | undefined>;
}

/** A file that readers see. */
export interface Page {
  path: string;
  bytes: Buffer;
  type: string;
}

const HTML = 'text/html; charset=utf-8';
export const JSON_TYPE = 'application/json';

export function textPage(path: string, text: string, type = HTML): Page {
  return { path, bytes: Buffer.from(text), type };
}

/** A page before it gets its frame. */
export interface PageContent {
  path: string;
  title: string;
  /** One sentence for search engines and previews. */
  description?: string | undefined;
  /** A schema.org document. */
  data?: object | undefined;
  body: Html;
  /** The scripts of the page in `assets/`. Only pages without any text from outside have some. */
  scripts?: readonly string[];
}

/**
 * No script can run in a page that shows text from outside: it has none of its own, and the policy allows none. The
 * pages for searching and verifying have one script, and read files of the copy only.
 */
const POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'";
const SCRIPT_POLICY = `${POLICY}; script-src 'self'; connect-src 'self'`;

const NAVIGATION = [
  [INDEX, 'Overview'],
  [listPath('packs'), 'Packs'],
  [listPath('studies'), 'Studies'],
  [listPath('sources'), 'Sources'],
  [TIMELINE, 'Timeline'],
  [SEARCH, 'Search'],
  [VERIFY, 'Verify'],
] as const;

/** Returns the text of an HTML page of a copy. */
export function framed(
  { node, publicUrl }: PageContext,
  { path, title, description, data, body, scripts = [] }: PageContent,
): string {
  const root = rootFrom(path);
  const canonical = publicUrl === null ? undefined : publicUrl + (path === INDEX ? '' : path);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${scripts.length > 0 ? SCRIPT_POLICY : POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}${title !== node && html` · ${node}`}</title>
${description !== undefined && html`<meta name="description" content="${shortened(description)}">\n`}${
  canonical !== undefined && html`<link rel="canonical" href="${canonical}">\n`
}<link rel="stylesheet" href="${root}assets/pages.css">
<link rel="icon" href="${root}assets/icon.svg" type="image/svg+xml">
<link rel="alternate" href="${root}${FEED}" type="application/atom+xml" title="Changes to watched sources">
${data !== undefined && jsonLd(data)}${scripts.map(
  (script) => html`<script src="${root}assets/${script}" defer></script>\n`,
)}</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<p class="name"><a href="${root}${INDEX}">${node}</a></p>
<nav aria-label="Pages"><ul>${NAVIGATION.map(
    ([target, name]) =>
      html`<li><a href="${root}${target}"${target === path && new Html(' aria-current="page"')}>${name}</a></li>`,
  )}</ul></nav>
</header>
<main id="content">
${body}
</main>
<footer><p>A static copy of the archive ${node}, made with Strongroom. Every object is named by its SHA-256 digest, and <a href="${root}${VERIFY}">anyone can verify it</a>.</p></footer>
</body>
</html>
`;
  return page.text;
}

const MAX_DESCRIPTION = 200;

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= MAX_DESCRIPTION ? line : `${line.slice(0, MAX_DESCRIPTION - 1).toWellFormed()}…`;
}

/** Browsers do not run a block of data. `<` is escaped, so that no text can end the block. */
function jsonLd(data: object): Html {
  const text = JSON.stringify(data).replaceAll('<', '\\u003c');
  return new Html(`<script type="application/ld+json">${text}</script>\n`);
}

/** The words before a heading that say where the page is. */
export function crumb(...pieces: Piece[]): Html {
  return html`<p class="crumb">${pieces}</p>`;
}
