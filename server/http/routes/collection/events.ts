import { Problem } from '../../../../shared/problems.ts';
import { eventsCsv } from '../../../collection/timeline/eventCsv.ts';
import { readEventDensity } from '../../../collection/timeline/eventDensity.ts';
import type { EventFeed } from '../../../collection/timeline/eventFeed.ts';
import {
  listEvents,
  readEventDetails,
  readEventsAfter,
  readLastEventId,
} from '../../../collection/timeline/events.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { isFresh } from '../../delivery/conditions.ts';
import { openRowStream } from '../../delivery/eventStream.ts';
import type { Exports } from '../../delivery/exports.ts';
import { attachmentHeaders, CSV_TYPE } from '../../delivery/streamReply.ts';
import { ok, page, type Reply } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type EventRoutes = 'listEvents' | 'readEventFeed' | 'readEventDensity' | 'readEvent' | 'streamEvents';

/** Handlers for the timeline. */
export function eventHandlers(
  store: Store,
  nodeName: string,
  { exports, publicAddress }: { exports: Exports; publicAddress: PublicAddress },
): Pick<Handlers, EventRoutes> {
  return {
    listEvents: async ({ query: { format, ...query }, request }) => {
      if (format === undefined) return page(request, query, await listEvents(store, query));
      if (format === 'csv')
        return exports.streamReply(attachmentHeaders(CSV_TYPE, 'events.csv'), () => eventsCsv(store, query));
      throw new Problem('invalid_format', 'Set format to csv, or omit it to get JSON.');
    },
    readEventFeed: async ({ query, request }) => {
      const origin = publicAddress.originOf(request);
      // Loads the feed library with the first feed.
      const { readEventFeed } = await import('../../../collection/timeline/eventFeed.ts');
      return feed(await readEventFeed(store, query, { origin, self: request.originalUrl, nodeName }));
    },
    readEventDensity: async ({ query }) => ok(await readEventDensity(store, query)),
    readEvent: ({ params }) => ok(readEventDetails(store, params.id ?? '')),
    streamEvents: ({ request }) => {
      const last = readLastEventId(store);
      const resumed = Number(/^\d{1,15}$/.exec(request.get('Last-Event-ID') ?? '')?.[0] ?? last);
      return {
        write: (response) =>
          openRowStream(response, {
            after: Math.min(resumed, last),
            read: (after, limit) => readEventsAfter(store, after, limit),
            onCommit: store.onCommit,
          }),
      };
    },
  };
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
