import type { Comment } from '../../../shared/archive/comment.ts';
import type { Comparison } from '../../../shared/collection/diff.ts';
import type { Event, EventType } from '../../../shared/collection/event.ts';
import { EVENT_TEXT } from '../../../shared/collection/eventText.ts';
import { handedInWords, observerWords, SELF } from '../../../shared/collection/observers.ts';
import type { SetIndex } from '../../archive/sets/setIndex.ts';
import { Html, html, type Piece } from '../../html.ts';
import { sourceKeyOf } from '../../store/sqlite/collection/sources.ts';
import type { ComparableEvent } from '../../store/sqlite/collection/timeline/eventNoise.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { type ListedPack, sourceOfLedger } from '../../store/sqlite/node/copyPages.ts';
import { FEED, INDEX, listPath, pagePath, rootFrom, SEARCH, TIMELINE, VERIFY } from './pagePaths.ts';

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
interface PageContent {
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
const POLICY =
  "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'";
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

/** The parts that several pages share. */

// Created once, because creating a format takes longer than the rest of a page.
const DAY = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});
const LONG_DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
const NUMBER = new Intl.NumberFormat('en-GB');

/** `22 Nov 2026, 19:50 UTC`, with the exact instant for machines. */
export function timeText(at: string): Html {
  return html`<time datetime="${at}">${DAY.format(new Date(at))}, ${at.slice(11, 16)} UTC</time>`;
}

/** `22 November 2026`. */
export function dayText(at: string): string {
  return LONG_DAY.format(new Date(at));
}

/** `2026-11` as `November 2026`. */
export function monthName(month: string): string {
  return MONTH.format(new Date(`${month}-01T00:00:00Z`));
}

/** `1,234 packs`. */
export function counted(count: number, one: string, more = `${one}s`): string {
  return `${NUMBER.format(count)} ${count === 1 ? one : more}`;
}

/** A size in decimal units, with the exact number on hover. */
export function sizeText(bytes: number): Html {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [bytes, 0];
  while (value >= 1_000 && unit < units.length - 1) [value, unit] = [value / 1_000, unit + 1];
  const text = unit === 0 ? counted(bytes, 'byte') : `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
  return html`<span class="nowrap" title="${counted(bytes, 'byte')}">${text}</span>`;
}

const SIGNS: Record<EventType, string> = {
  first_seen: '+',
  changed: '≠',
  unavailable: '△',
  disappeared: '✕',
  recovered: '↺',
};

/** The type of an event: a sign, a word and a colour. */
export function eventBadge(type: EventType): Html {
  return html`<span class="badge ${type.replace('_', '-')}"><span aria-hidden="true">${SIGNS[type]}</span> ${EVENT_TEXT[type].name}</span>`;
}

export function badge(word: string): Html {
  return html`<span class="badge">${word}</span>`;
}

/** A name and its values, in a list of facts. Empty values are left out. */
export function facts(rows: readonly (readonly [string, Piece])[]): Html {
  const shown = rows.filter(
    ([, value]) => value !== null && value !== undefined && value !== false && value !== '',
  );
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Text with the line breaks that its author gave it. */
export function plainText(text: string): Html | false {
  return text.trim() !== '' && html`<div class="text">${text}</div>`;
}

/** A link to another site. Only http(s) becomes a link. */
export function outwardLink(url: string, text: string = url): Html {
  return /^https?:\/\//i.test(url)
    ? html`<a class="wrap" href="${url}" rel="nofollow noopener noreferrer external">${text}</a>`
    : html`<span class="wrap">${text}</span>`;
}

/** A digest, whole, in groups that may be broken over lines. */
export function digestText(digest: string): Html {
  return html`<code class="digest">${new Html((digest.match(/.{8}/g) ?? []).join('<wbr>'))}</code>`;
}

/**
 * A link that downloads an object. A browser never shows the bytes, whatever type a server gives them.
 *
 * @param name the file name that is proposed
 */
export function objectLink(
  { holds, whyHidden }: PageContext,
  { root, sha256, name, text }: { root: string; sha256: string; name: string; text?: Piece },
): Html {
  const hidden = whyHidden(sha256);
  if (hidden !== undefined) return html`${text ?? digestText(sha256)} <span class="muted">${hidden}</span>`;
  if (!holds(sha256))
    return html`${text ?? digestText(sha256)} <span class="muted">(this copy does not hold the object)</span>`;
  return html`<a class="object" href="${root}archive/${sha256}" download="${fileName(name)}">${text ?? digestText(sha256)}</a>`;
}

const MAX_NAME = 120;

/** A file name without a path and without characters that systems forbid. */
export function fileName(name: string): string {
  const last = name.split('/').filter(Boolean).at(-1) ?? '';
  const clean = last.replace(/[^\p{L}\p{N}._ -]+/gu, '_').replace(/^\.+/, '');
  return clean.slice(-MAX_NAME) || 'object';
}

/** Whose name an event's source had when the ledger had the size of the pages. */
export function sourceName(
  { database, size }: PageContext,
  source: { id: string; url: string },
): {
  name: string;
  agency: string;
} {
  const key = sourceKeyOf(database, source.id);
  const { name = '', agency = '' } = (key !== undefined && sourceOfLedger(database, key, size)) || {};
  return { name: name || source.url, agency };
}

/** Events as a table, in the order given. */
export function eventTable(
  context: PageContext,
  root: string,
  events: readonly Event[],
  { withSource = true } = {},
): Html {
  if (events.length === 0) return html`<p class="muted">No events.</p>`;
  const header = ['When', 'Event', ...(withSource ? ['Source'] : ['Digest'])];
  return html`<div class="scroll" role="region" aria-label="Events" tabindex="0"><table>
<thead><tr>${header.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${events.map(
    (event) => html`
<tr id="e${event.id}"><td class="nowrap"><a href="${root}${pagePath('events', event.id)}">${timeText(event.observed_at)}</a></td><td>${eventBadge(event.event_type)}</td><td>${
      withSource
        ? html`<a class="wrap" href="${root}${pagePath('sources', event.source.id)}">${sourceName(context, event.source).name}</a>`
        : event.sha256 && html`<code>${event.sha256.slice(0, 8)}</code>`
    }${event.observer !== SELF && html` <span class="muted">${handedInWords(event.observer) ?? `by ${observerName(event.observer)}`}</span>`}</td></tr>`,
  )}
</tbody></table></div>`;
}

/** Who saw what an event records, as a reader understands it. */
export function observerName(observer: string): string {
  return observerWords(observer, { self: 'this archive', browser: 'a browser of this archive' });
}

/** Packs as a list, in the order given. */
export function packList(root: string, packs: readonly ListedPack[]): Html {
  if (packs.length === 0) return html`<p class="muted">No packs.</p>`;
  return html`<ul class="items">${packs.map(
    ({ id, title, authors, at, outcome, tag }) => html`
<li><a href="${root}${pagePath('packs', id)}">${title}</a>
<p class="muted">${authorNames(JSON.parse(authors) as { name: string }[])} · ${timeText(at)} ${badge(outcome)} ${badge(tag)}</p></li>`,
  )}
</ul>`;
}

const MAX_AUTHORS = 5;

function authorNames(authors: readonly { name: string }[]): string {
  const names = authors.slice(0, MAX_AUTHORS).map(({ name }) => name);
  return authors.length > MAX_AUTHORS ? `${names.join(', ')} and others` : names.join(', ');
}

/** Comments on an item. */
export function commentSection({ items, total }: { items: readonly Comment[]; total: number }): Html | false {
  return (
    total > 0 &&
    html`<section><h2>${counted(total, 'comment')}</h2>
${total > items.length && html`<p class="muted">The first ${items.length} are shown. The records of the copy contain all of them.</p>`}
<ul class="items">${items.map(
      ({ id, author, at, body, ledger_entry }) =>
        html`<li id="${id}"><p><strong>${author}</strong> <span class="muted">${timeText(at)} · ledger entry ${ledger_entry}</span></p>${plainText(body)}</li>`,
    )}</ul></section>`
  );
}

/** Links to the parts of a list before and after one. */
export function pager(links: { newer?: string | undefined; older?: string | undefined }): Html | false {
  const { newer, older } = links;
  if (newer === undefined && older === undefined) return false;
  return html`<nav class="pager" aria-label="Parts of the list">${newer !== undefined && html`<a href="${newer}" rel="prev">Newer</a>`}${older !== undefined && html`<a href="${older}" rel="next">Older</a>`}</nav>`;
}
