import { createHash } from 'node:crypto';
import { Feed } from 'feed';
import { type Event, type EventsQuery } from '../../../shared/collection/event.ts';
import { eventTitle } from '../../../shared/collection/eventText.ts';
import { BROWSER, foreignWords, isHandedIn } from '../../../shared/collection/observers.ts';
import type { Store } from '../../store/store.ts';
import { unreadable, VISITOR } from '../../withholding/withholding.ts';
import { listEvents, withReadableSummaries } from './events.ts';

/** An Atom document with its validator for conditional requests. */
export interface EventFeed {
  xml: string;
  etag: string;
}

/** Tag URIs (RFC 4151) contain a date on which the name belonged to its owner. */
const TAG_YEAR = '2026';

/**
 * Returns a page of the timeline as an Atom feed (RFC 4287). Its ids are tag URIs with the node's name, so they do not
 * depend on the address of the request.
 *
 * @param self the path and query of the request.
 */
export async function readEventFeed(
  store: Pick<Store, 'read'>,
  query: EventsQuery,
  { origin, self, nodeName }: { origin: string; self: string; nodeName: string },
): Promise<EventFeed> {
  const listed = await listEvents(store, query);
  // A feed reader may show a feed to other people, so it gets only what visitors may read.
  const items = withReadableSummaries(store.read, listed.items, VISITOR).map((event) =>
    // The reason of a label quotes the page.
    event.page_label && event.sha256 && unreadable(store.read, event.sha256, VISITOR)
      ? { ...event, page_label: null }
      : event,
  );
  const updatedAt = items[0]?.observed_at;
  const tag = (name: string) => `tag:${nodeName.split('/', 1)[0]},${TAG_YEAR}:${name}`;
  const feed = new Feed({
    id: tag(self),
    title: 'Changes to watched sources',
    updated: new Date(updatedAt ?? 0),
    link: `${origin}/timeline`,
    feed: `${origin}${self}`,
    generator: 'Strongroom',
    author: { name: nodeName },
  });
  for (const event of items) {
    feed.addItem({
      id: tag(`event/${event.id}`),
      title: html(titleOf(event)),
      link: `${origin}/timeline/${event.id}`,
      date: new Date(event.observed_at),
      published: new Date(event.observed_at),
      content: contentOf(event, origin),
    });
  }
  const xml = feed.atom1();
  return { xml, etag: `"${createHash('sha256').update(xml).digest('hex')}"` };
}

/** `Changed: Daily levels (3 rows added)`. */
function titleOf(event: Event): string {
  const { source, summary } = event;
  const title = eventTitle(event, source.name || source.url);
  return summary === null || summary === undefined ? title : `${title} (${summary})`;
}

/** Summarises the event with links to its objects. The diff is on the event's own page. */
function contentOf(event: Event, origin: string): string {
  const { source, sha256, previous_sha256, page_label, original_observed_at, observer } = event;
  const lines = [
    link(source.url, source.url),
    source.agency && html(`Agency: ${source.agency}`),
    source.tags.length > 0 && html(`Tags: ${source.tags.join(', ')}`),
    sha256 && `Object: ${link(`${origin}/archive/${sha256}`, sha256)}`,
    previous_sha256 && `Before: ${link(`${origin}/archive/${previous_sha256}`, previous_sha256)}`,
    page_label && html(`Label: ${page_label.label.replace('_', ' ')} (${page_label.reason})`),
    original_observed_at &&
      html(
        observer === BROWSER
          ? `Drawn by a browser of this node at ${original_observed_at}`
          : `${isHandedIn(observer) ? 'Seen' : 'Captured'} by ${foreignWords(observer)} at ${original_observed_at}`,
      ),
    `Ledger entry ${event.ledger_entry}`,
  ];
  return lines
    .filter(Boolean)
    .map((line) => `<p>${String(line)}</p>`)
    .join('');
}

function link(target: string, text: string): string {
  return `<a href="${html(target)}">${html(text)}</a>`;
}

const ESCAPED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text as HTML and replaces characters that XML does not allow (XML 1.0, section 2.2). */
function html(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"]/g, (character) => ESCAPED[character] ?? character);
}
