import type { Collection } from '../../../collection/collection.ts';
import { listFound, refuseFound } from '../../../collection/follow/foundLinks.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { ok, page } from '../../reply.ts';

/** Handlers for the addresses that followed sources link to. */
export function followHandlers(
  store: Store,
  collection: Collection,
): Pick<Handlers, 'listFound' | 'approveFound' | 'refuseFound'> {
  return {
    listFound: ({ query, request }) => page(request, query, listFound(store, query)),
    approveFound: async ({ body }) => ok(await collection.approveFound(body)),
    refuseFound: async ({ body }) => ok(await refuseFound(store, body)),
  };
}
