import { showWithParts, withholdWithParts } from '../../../archive/sets/withholdSet.ts';
import type { Store } from '../../../store/store.ts';
import { previewRelease, release } from '../../../withholding/release.ts';
import {
  listReleases,
  listWithheldObjects,
  listWithholdings,
  readWithheldState,
} from '../../../withholding/withholding.ts';
import type { Handlers } from '../../app.ts';
import { ok, page } from '../../reply.ts';

/** Handlers for what visitors may not read, and for what was given up. */
export function withheldHandlers(
  store: Store,
): Pick<
  Handlers,
  | 'listWithheld'
  | 'listReleased'
  | 'readWithheldState'
  | 'listWithheldObjects'
  | 'withhold'
  | 'show'
  | 'previewRelease'
  | 'release'
> {
  return {
    listWithheld: ({ query, request }) => page(request, query, listWithholdings(store.read, query)),
    listReleased: ({ query, request }) => page(request, query, listReleases(store.read, query)),
    readWithheldState: ({ query }) => ok(readWithheldState(store.read, query)),
    listWithheldObjects: ({ query, request }) =>
      page(request, query, listWithheldObjects(store.read, query, query.withholding)),
    withhold: async ({ body }) => {
      const { withholding, isNew } = await withholdWithParts(store, body);
      return { status: isNew ? 201 : 200, json: withholding };
    },
    show: async ({ body }) => ok(await showWithParts(store, body)),
    previewRelease: async ({ query }) => ok(await previewRelease(store, query.sha256)),
    release: async ({ body }) => {
      const { release: recorded, isNew } = await release(store, body);
      return { status: isNew ? 201 : 200, json: recorded };
    },
  };
}
