import type { Event, EventsQuery } from '../../../../shared/collection/event.ts';
import { Problem } from '../../../../shared/problems.ts';
import type { Summaries } from '../../../collection/diff/summaries.ts';
import { eventsCsv } from '../../../collection/timeline/eventCsv.ts';
import { readEventDensity } from '../../../collection/timeline/eventDensity.ts';
import type { EventFeed } from '../../../collection/timeline/eventFeed.ts';
import {
  listEvents,
  readEventDetails,
  readEventObservers,
  readEventRetrieval,
  readEventsAfter,
  readLastEventId,
} from '../../../collection/timeline/events.ts';
import { readEventQuality } from '../../../collection/timeline/quality.ts';
import { changeSeen, readSeen } from '../../../collection/timeline/seen.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { isFresh } from '../../delivery/conditions.ts';
import { openRowStream } from '../../delivery/eventStream.ts';
import type { Exports } from '../../delivery/exports.ts';
import { attachmentHeaders, CSV_TYPE } from '../../delivery/streamReply.ts';
import { ok, page, type Reply } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type EventRoutes =
  | 'listEvents'
  | 'listOwnEvents'
  | 'readSeen'
  | 'changeSeen'
  | 'readEventFeed'
  | 'readEventDensity'
  | 'readEvent'
  | 'readEventObservers'
  | 'readEventRetrieval'
  | 'readEventQuality'
  | 'streamEvents';

/** Handlers for the timeline, and for what the owner has seen of it. */
export function eventHandlers(
  store: Store,
  nodeName: string,
  {
    exports,
    publicAddress,
    summaries,
  }: { exports: Exports; publicAddress: PublicAddress; summaries: Pick<Summaries, 'want'> },
): Pick<Handlers, EventRoutes> {
  const list = async (query: EventsQuery, { seen, withSummaries }: ListOptions) => {
    const slice = await listEvents(store, query, seen);
    if (!withSummaries) return { ...slice, items: slice.items.map(withoutSummary) };
    summaries.want(slice.items);
    return slice;
  };
  return {
    listEvents: async ({ query: { format, summaries: withSummaries, ...query }, request }) => {
      if (format === undefined) return page(request, query, await list(query, { withSummaries }));
      if (format === 'csv')
        return exports.streamReply(attachmentHeaders(CSV_TYPE, 'events.csv'), () => eventsCsv(store, query));
      throw new Problem('invalid_format', 'Set format to csv, or omit it to get JSON.');
    },
    listOwnEvents: async ({ query: { seen, summaries: withSummaries, ...query }, request }) =>
      page(request, query, await list(query, { seen, withSummaries })),
    readSeen: async () => ok(await readSeen(store)),
    changeSeen: async ({ body }) => ok(await changeSeen(store, body)),
    readEventFeed: async ({ query, request }) => {
      const origin = publicAddress.originOf(request);
      // Loads the feed library with the first feed.
      const { readEventFeed } = await import('../../../collection/timeline/eventFeed.ts');
      return feed(await readEventFeed(store, query, { origin, self: request.originalUrl, nodeName }));
    },
    readEventDensity: async ({ query }) => ok(await readEventDensity(store, query)),
    readEventQuality: async ({ params }) => ok(await readEventQuality(store, params.id ?? '')),
    readEventObservers: ({ params }) => ok(readEventObservers(store, params.id ?? '')),
    readEventRetrieval: ({ params }) => ok(readEventRetrieval(store, params.id ?? '')),
    readEvent: ({ params }) => ok(withoutSummary(readEventDetails(store, params.id ?? ''))),
    streamEvents: ({ request }) => {
      const last = readLastEventId(store);
      const resumed = Number(/^\d{1,15}$/.exec(request.get('Last-Event-ID') ?? '')?.[0] ?? last);
      return {
        write: (response) =>
          openRowStream(response, {
            after: Math.min(resumed, last),
            read: (after, limit) => readEventsAfter(store, after, limit).map(withoutSummary),
            onCommit: store.onCommit,
          }),
      };
    },
  };
}

interface ListOptions {
  seen?: boolean | undefined;
  withSummaries?: boolean | undefined;
}

/** A summary is derived some time after its event, so a row has one only if it is asked for. */
function withoutSummary<Row extends Event>({ summary: _derived, ...row }: Row): Omit<Row, 'summary'> {
  return row;
}

function feed({ xml, etag, updatedAt }: EventFeed): Reply {
  // HTTP dates have no fractions of a second.
  const lastModified = updatedAt === undefined ? undefined : Math.floor(Date.parse(updatedAt) / 1000) * 1000;
  return {
    write: (response) => {
      response.set({ 'Cache-Control': 'no-cache', ETag: etag });
      if (lastModified !== undefined) response.set('Last-Modified', new Date(lastModified).toUTCString());
      if (isFresh(response.req, { etag, lastModified })) return void response.status(304).end();
      response.set('Content-Type', 'application/atom+xml; charset=utf-8').send(xml);
    },
  };
}
