import { visibleText } from '../../../shared/collection/derived.ts';
import type { ByteParts, Comparison, Hunk, JsonChange, TableParts } from '../../../shared/collection/diff.ts';
import { hunkPlace } from '../../../shared/collection/diffSummary.ts';
import type { Event } from '../../../shared/collection/event.ts';
import { eventTitle } from '../../../shared/collection/eventText.ts';
import { EVERYTHING } from '../../../shared/collection/noise.ts';
import { isHandedIn } from '../../../shared/collection/observers.ts';
import type { ListedPage, PageCapture } from '../../../shared/collection/page.ts';
import { protocolWords, serverWords } from '../../../shared/collection/retrievalWords.ts';
import { Problem } from '../../../shared/problems.ts';
import { type Deriver, objectToRead } from '../../collection/derived/process/deriver.ts';
import { decompressContent } from '../../collection/derived/process/tasks.ts';
import { deriveComparison } from '../../collection/diff/diffs.ts';
import { summarize } from '../../collection/diff/summarize.ts';
import { type Html, html } from '../../html.ts';
import { pageById } from '../../store/sqlite/collection/pages.ts';
import { comparableEvent } from '../../store/sqlite/collection/timeline/eventNoise.ts';
import { eventById } from '../../store/sqlite/collection/timeline/events.ts';
import { eventBefore, retrievalOfEvent } from '../../store/sqlite/node/copyPages.ts';
import type { Store } from '../../store/store.ts';
import {
  type CompareVersions,
  counted,
  crumb,
  eventBadge,
  facts,
  fileName,
  framed,
  monthName,
  objectLink,
  observerName,
  outwardLink,
  type Page,
  type PageContext,
  sizeText,
  sourceName,
  textPage,
  timeText,
} from './frame.ts';
import { eventData } from './jsonLd.ts';
import { monthPath, pagePath, VERIFY } from './pagePaths.ts';

const ROOT = '../';

/** The page of an event: what was observed and when, and what differs between the versions, and the objects before and after. */
export async function eventPage(context: PageContext, id: number): Promise<Page | undefined> {
  const event = eventById(context.database, id);
  if (!event) return undefined;
  const { name, agency } = sourceName(context, event.source);
  const title = eventTitle(event, name);
  const path = pagePath('events', id);
  const month = event.observed_at.slice(0, 7);
  const before = eventBefore(context.database, event);
  const body = html`${crumb(html`<a href="${ROOT}${monthPath(month)}">${monthName(month)}</a>`)}
<h1 class="wrap">${name}</h1>
<p>${eventBadge(event.event_type)} ${timeText(event.observed_at)}</p>
${event.page_label && html`<p class="note">This looks like ${LABELS[event.page_label.label]}: ${event.page_label.reason}</p>`}
${pictureSection(context, event.page)}
${await changesSection(context, event)}
${objects(context, event)}
${eventFacts(context, event, agency)}
${before !== undefined && html`<p><a href="${before}.html">Previous event of this source</a></p>`}`;
  const description = `${title}, observed ${event.observed_at}.`;
  return textPage(
    path,
    framed(context, { path, title, description, data: eventData(context, event, title), body }),
  );
}

const LABELS = {
  error_page: 'an error page',
  bot_wall: 'a page that only blocks robots',
  rate_limit: 'a rate limit response',
  script_shell: 'a page that shows nothing without its scripts',
} as const;

function objects(context: PageContext, { source, sha256, previous_sha256 }: Event): Html | false {
  if (sha256 === null && previous_sha256 === null) return false;
  const name = fileName(URL.parse(source.url)?.pathname ?? '');
  const row = (label: string, digest: string | null) =>
    [label, digest !== null && objectLink(context, { root: ROOT, sha256: digest, name })] as const;
  return html`<section><h2>Stored bytes</h2>${facts([
    row(previous_sha256 === null ? 'Object' : 'After', sha256),
    row('Before', previous_sha256),
  ])}<p class="muted">The links download the bytes exactly as they were received, named by their SHA-256 digest. A browser does not show them as a page, so nothing in them can run.</p></section>`;
}

function eventFacts({ database }: PageContext, event: Event, agency: string): Html {
  const { source, observer, original_observed_at, reverts_to, ledger_entry, id } = event;
  const retrieval = retrievalOfEvent(database, id);
  const claim = new URLSearchParams({ entry: String(ledger_entry), source: source.id, url: source.url });
  return html`<section><h2>Record</h2>${facts([
    ['Source', html`<a href="${ROOT}${pagePath('sources', source.id)}">${source.url}</a>`],
    ['Agency', agency],
    ['Final URL', retrieval && retrieval.final_url !== source.url && outwardLink(retrieval.final_url)],
    ['Observed', timeText(event.observed_at)],
    ['Observer', observerName(observer)],
    [
      isHandedIn(observer) ? 'Seen by the observer' : 'Captured by the observer',
      original_observed_at && timeText(original_observed_at),
    ],
    ['Answer', retrieval?.status && `HTTP ${retrieval.status}`],
    ['Answered by', retrieval?.connection && serverWords(retrieval.connection)],
    ['Protocol', retrieval?.connection && protocolWords(retrieval.connection)],
    ['Failure', retrieval?.error?.replaceAll('_', ' ')],
    ['Content type', retrieval?.content_type],
    ['Size', retrieval?.bytes !== null && retrieval?.bytes !== undefined && sizeText(retrieval.bytes)],
    [
      'Returned to',
      reverts_to !== null && html`<a href="${reverts_to}.html">the version of event ${reverts_to}</a>`,
    ],
    [
      'Ledger entry',
      html`${ledger_entry} · <a href="${ROOT}${VERIFY}#${claim.toString()}">Verify in the browser</a>`,
    ],
  ])}</section>`;
}

/** The passages, values or rows that a page shows. */
const MAX_SHOWN = 60;
const MAX_COLUMNS = 30;

/** What differs between the two versions of a change; false for an event without two versions. */
async function changesSection(context: PageContext, { id }: Event): Promise<Html | false> {
  const event = comparableEvent(context.database, id);
  if (!event) return false;
  const hidden = context.whyHidden(event.sha256) ?? context.whyHidden(event.previous_sha256);
  if (hidden !== undefined)
    return html`<section class="changes"><h2>Changes</h2><p class="muted">What changed is not shown. ${hidden}</p></section>`;
  const isHeld = context.holds(event.sha256) && context.holds(event.previous_sha256);
  const comparison = isHeld ? await context.compare(event) : undefined;
  return html`<section class="changes"><h2>Changes</h2>${
    comparison
      ? shown(comparison)
      : html`<p class="muted">The two versions could not be compared: at least one of them is damaged or missing.</p>`
  }</section>`;
}

function shown(comparison: Comparison): Html {
  const limit = new CharacterLimit();
  const body = differences(comparison, limit);
  const summary = summarize(comparison, null);
  const isPart = limit.isCut || comparison.truncated;
  return html`${summary && html`<p>${summary}</p>`}${
    comparison.reason && html`<p class="muted">${comparison.reason}</p>`
  }${body}${
    isPart &&
    html`<p class="note">The list of differences is cut here. Download both versions to compare everything.</p>`
  }<p class="muted">This comparison is derived. The evidence is the stored bytes below.</p>`;
}

function differences(comparison: Comparison, limit: CharacterLimit): Html | false | null {
  switch (comparison.kind) {
    case 'json':
      return comparison.changes.length > 0 && jsonChanges(comparison.changes, limit);
    case 'csv':
      return comparison.rows.length > 0 && tableRows(comparison, limit);
    case 'image':
      return false;
    case 'bytes':
      return comparison.around && bytesAround(comparison.around);
    default:
      return comparison.hunks.length > 0 && passages(comparison.hunks, limit);
  }
}

const added = (text: string) => text !== '' && html`<ins>${text}</ins>`;
const removed = (text: string) => text !== '' && html`<del>${text}</del>`;

function passages(hunks: readonly Hunk[], limit: CharacterLimit): Html {
  return html`<ol class="diff">${[...limit.first(hunks, MAX_SHOWN)].map(
    (hunk) =>
      html`<li><p class="muted">${hunkPlace(hunk)}</p><div class="text">${[
        ...limit.first(hunk.parts, Number.POSITIVE_INFINITY),
      ].map(({ op, text }) => {
        if (op === 'added') return added(limit.fit(visibleText(text)));
        return op === 'removed' ? removed(limit.fit(visibleText(text))) : limit.fit(text);
      })}</div></li>`,
  )}</ol>`;
}

function jsonChanges(changes: readonly JsonChange[], limit: CharacterLimit): Html {
  const textOf = (value: JsonChange['before']) =>
    value === null ? '' : limit.fit(value.cut ? `${value.json}…` : value.json);
  // The pointer to the whole document is the empty string.
  const nameOf = (pointer: string) => limit.fit(pointer === '' ? '(whole document)' : pointer);
  return html`<ol class="diff">${[...limit.first(changes, MAX_SHOWN)].map(
    ({ op, pointer, from_pointer, before, after }) =>
      html`<li><p><span class="muted">${op}</span> <code class="wrap">${
        op === 'moved' && from_pointer !== null && html`${nameOf(from_pointer)} → `
      }${nameOf(pointer)}</code></p><div class="text mono">${removed(textOf(before))}${
        before && after && '\n'
      }${added(textOf(after))}</div></li>`,
  )}</ol>`;
}

function tableRows({ header, rows, key }: TableParts, limit: CharacterLimit): Html {
  const first = [...limit.first(rows, MAX_SHOWN)];
  const changed = new Set(first.flatMap(({ cells }) => cells.map(({ column }) => column)));
  const all = new Set([...header.to, ...header.from, ...changed]);
  const columns = [
    ...limit.first(
      [...all].filter((name) => changed.has(name) && name !== key),
      MAX_COLUMNS,
    ),
  ];
  const nameOf = (column: string) => {
    if (!header.from.includes(column)) return added(limit.fit(column));
    return header.to.includes(column) ? limit.fit(column) : removed(limit.fit(column));
  };
  return html`<div class="scroll" role="region" aria-label="Changed rows" tabindex="0"><table class="diff">
<thead><tr><th scope="col">Row</th>${key !== null && html`<th scope="col">${limit.fit(key)}</th>`}${columns.map(
    (column) => html`<th scope="col">${nameOf(column)}</th>`,
  )}</tr></thead>
<tbody>${[...limit.first(first, MAX_SHOWN)].map(
    (row) =>
      html`<tr><th scope="row" class="nowrap">${row.op} ${row.to_row ?? row.from_row}</th>${
        key !== null && html`<td>${limit.fit(row.key ?? '')}</td>`
      }${columns.map((column) => {
        const cell = row.cells.find((each) => each.column === column);
        return html`<td>${removed(limit.fit(cell?.before ?? ''))} ${added(limit.fit(cell?.after ?? ''))}</td>`;
      })}</tr>\n`,
  )}</tbody></table></div>
<p class="muted">${
    key === null
      ? 'Rows are compared by position because no column identifies them.'
      : `Rows are matched by the column “${key.slice(0, 100).toWellFormed()}”.`
  } Columns without differences are hidden.</p>`;
}

function bytesAround({ offset, from, to }: NonNullable<ByteParts['around']>): Html {
  const spaced = (hex: string) => hex.replace(/..(?=.)/g, '$& ');
  return html`<ol class="diff"><li><p class="muted">Bytes from ${offset} on, as hex</p><div class="text mono">${removed(spaced(from))}\n${added(spaced(to))}</div></li></ol>`;
}

/** The characters of differences that a page shows. */
const MAX_CHARACTERS = 40_000;
/** What the markup of each text counts. */
const MARKUP_CHARACTERS = 10;

/** Limits the characters of the differences on a page. What does not fit is cut. */
class CharacterLimit {
  #left = MAX_CHARACTERS;
  /** Whether anything was left out. */
  isCut = false;

  /** Returns as much of a text as fits. */
  fit(text: string): string {
    const part = text.slice(0, this.#left).toWellFormed();
    this.#left = Math.max(0, this.#left - part.length - MARKUP_CHARACTERS);
    if (part.length === text.length) return part;
    this.isCut = true;
    return `${part}…`;
  }

  /** Yields the first items of a list, until the limit is reached. */
  *first<Item>(items: readonly Item[], most: number): Generator<Item> {
    for (const [index, item] of items.entries()) {
      if (index === most || this.#left === 0) {
        this.isCut = true;
        return;
      }
      yield item;
    }
  }
}

const NOT_COMPARED: ReadonlySet<string> = new Set(['blob_damaged', 'released', 'not_derivable']);

/**
 * Returns what compares versions for pages, in the document processes and after what readers of the node wait for. The
 * watched part and noise rules are not applied: they may change at any time, and a page shows what depends on the two objects only.
 */
export function versionComparer(store: Store, deriver: Deriver): CompareVersions {
  return async ({ previous_sha256, sha256 }) => {
    const from = objectToRead(store, previous_sha256);
    const to = objectToRead(store, sha256);
    try {
      const { content } = await deriveComparison(store, deriver, { from, to, scope: EVERYTHING }, 'low');
      return decompressContent<Comparison>(content);
    } catch (error) {
      if (error instanceof Problem && NOT_COMPARED.has(error.code)) return undefined;
      throw error;
    }
  };
}

/** Shows the page capture of an event: its picture, and by which browser and when it was drawn. */
function pictureSection(context: PageContext, id: string | null): Html | false {
  const page = id === null ? undefined : pageById(context.database, id);
  if (!page) return false;
  const { picture, title, requests } = page;
  const hidden = context.whyHidden(picture);
  return html`<section><h2>The page as a browser drew it</h2>
${hidden !== undefined && html`<p class="note">${hidden}</p>`}${
  context.holds(picture) &&
  html`<p><a href="${ROOT}archive/${picture}" download="page.png"><img class="picture" src="${ROOT}archive/${picture}" alt="Picture of the page ${title}" loading="lazy"></a></p>`
}
${facts([
  ['Title', title],
  ['Drawn', timeText(page.started_at)],
  ['Browser', drawnBy(page)],
  ['Cut off', page.reason && CUT_BY[page.reason]],
  ['Requests', counted(requests.length, 'request')],
  ...outputLinks(context, page),
  ['Ledger entry', String(page.ledger_entry)],
])}</section>`;
}

const CUT_BY = {
  time: 'it reached the time limit',
  requests: 'it made too many requests',
  bytes: 'it loaded too many bytes',
  height: 'it is too tall',
} as const;

function drawnBy({ browser, viewport }: Pick<PageCapture, 'browser' | 'viewport'>): string {
  return `${browser.name} ${browser.version}, ${viewport.width} × ${viewport.height}`;
}

function outputLinks(
  context: PageContext,
  { picture, text, document }: Pick<PageCapture, 'picture' | 'text' | 'document'>,
): [string, Html][] {
  return [
    ['Picture', objectLink(context, { root: ROOT, sha256: picture, name: 'page.png' })],
    ['Text', objectLink(context, { root: ROOT, sha256: text, name: 'page.txt' })],
    ['Document', objectLink(context, { root: ROOT, sha256: document, name: 'page.html' })],
  ];
}

/** A page capture in the list of its source. */
export function pageItem(context: PageContext, page: ListedPage): Html {
  const links = outputLinks(context, page).map(([name, link]) => html`<br>${name}: ${link}`);
  return html`
<li>${timeText(page.started_at)} ${page.title}
<p class="muted">${drawnBy(page)} · ${counted(page.request_count, 'request')} · ledger entry ${page.ledger_entry}${links}</p></li>`;
}
