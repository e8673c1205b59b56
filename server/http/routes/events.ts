import { listEvents, readEvent, readEventsAfter, readLastEventId } from '../../collection/events.ts';
import type { Store } from '../../store/store.ts';
import type { Handlers } from '../app.ts';
import { openRowStream } from '../eventStream.ts';
import { ok, page } from '../reply.ts';

/** The timeline. */
export function eventHandlers(store: Store): Pick<Handlers, 'listEvents' | 'readEvent' | 'streamEvents'> {
  return {
    listEvents: ({ query, request }) => page(request, query, listEvents(store, query)),
    readEvent: ({ params }) => ok(readEvent(store, params.id ?? '')),
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
