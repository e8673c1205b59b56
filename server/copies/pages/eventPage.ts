import type { Event } from '../../../shared/collection/event.ts';
import { eventTitle } from '../../../shared/collection/eventText.ts';
import { isHandedIn } from '../../../shared/collection/handedInWords.ts';
import { protocolWords, serverWords } from '../../../shared/collection/retrievalWords.ts';
import { type Html, html } from '../../html.ts';
import { eventById } from '../../store/sqlite/collection/timeline/events.ts';
import { eventBefore, retrievalOfEvent } from '../../store/sqlite/node/copyPages.ts';
import { changesSection } from './changesSection.ts';
import {
  eventBadge,
  facts,
  fileName,
  monthName,
  objectLink,
  outwardLink,
  sizeText,
  sourceName,
  timeText,
} from './fragments.ts';
import { crumb, framed, type Page, type PageContext, textPage } from './frame.ts';
import { eventData } from './jsonLd.ts';
import { monthPath, pagePath, VERIFY } from './pagePaths.ts';
import { observerName, pictureSection } from './pageSection.ts';

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
