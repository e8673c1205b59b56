import { BROWSER, SELF } from '../../../shared/collection/event.ts';
import { handedInWords } from '../../../shared/collection/handedInWords.ts';
import type { ListedPage, PageCapture } from '../../../shared/collection/page.ts';
import { type Html, html } from '../../html.ts';
import { listPages, pageById } from '../../store/sqlite/collection/pages.ts';
import { counted, facts, objectLink, timeText } from './fragments.ts';
import type { PageContext } from './frame.ts';

const ROOT = '../';
/** The page captures that the page of a source lists. */
const NEWEST = 50;

/** Who saw what an event records, as a reader understands it. */
export function observerName(observer: string): string {
  if (observer === SELF) return 'this archive';
  return observer === BROWSER ? 'a browser of this archive' : (handedInWords(observer) ?? observer);
}

/** Shows the page capture of an event: its picture, and by which browser and when it was drawn. */
export function pictureSection(context: PageContext, id: string | null): Html | false {
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

/** Lists the newest page captures of a source. */
export function pagesSection(context: PageContext, source: string): Html | false {
  const pages = listPages(context.database, { source, size: context.size, limit: NEWEST });
  if (pages.length === 0) return false;
  return html`<section><h2>The page as a browser drew it</h2><ul class="items">${pages.map((page) =>
    pageItem(context, page),
  )}
</ul></section>`;
}

function pageItem(context: PageContext, page: ListedPage): Html {
  const links = outputLinks(context, page).map(([name, link]) => html`<br>${name}: ${link}`);
  return html`
<li>${timeText(page.started_at)} ${page.title}
<p class="muted">${drawnBy(page)} · ${counted(page.request_count, 'request')} · ledger entry ${page.ledger_entry}${links}</p></li>`;
}
