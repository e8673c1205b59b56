import { listTimestamps, readTimestamp, type Timestamps } from '../../../ledger/timestamps/timestamps.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { ok, page, plainText } from '../../reply.ts';

type TimestampRoutes =
  | 'listTimestamps'
  | 'readTimestamp'
  | 'readTimestampedText'
  | 'readAuthorities'
  | 'requestTimestamps';

/** Handlers for the timestamps of the ledger. */
export function timestampHandlers(store: Store, timestamps: Timestamps): Pick<Handlers, TimestampRoutes> {
  return {
    listTimestamps: ({ query, request }) => page(request, query, listTimestamps(store, query)),
    readTimestamp: ({ params }) => {
      const { id, reply } = readTimestamp(store, params.id ?? '');
      return {
        write: (response) =>
          void response
            .set({ 'Content-Disposition': `attachment; filename="${id}.tsr"`, 'Cache-Control': 'no-cache' })
            .type('application/timestamp-reply')
            .send(reply),
      };
    },
    readTimestampedText: ({ params }) => {
      const { id, text } = readTimestamp(store, params.id ?? '');
      return plainText(text, { 'Content-Disposition': `attachment; filename="${id}.txt"` });
    },
    readAuthorities: () => ok({ authorities: timestamps.authorities() }),
    requestTimestamps: async () => ({ status: 201, json: await timestamps.stampNow() }),
  };
}
