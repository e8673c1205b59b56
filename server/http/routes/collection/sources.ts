import { isDeepStrictEqual } from 'node:util';
import { LIST_MEDIA_TYPES, MAX_LIST_BYTES, newSourceSchema } from '../../../../shared/collection/source.ts';
import { Problem } from '../../../../shared/problems.ts';
import type { Collection } from '../../../collection/collection.ts';
import { listFound, refuseFound } from '../../../collection/follow/follower.ts';
import { proveRetrieval, proveRetrievals } from '../../../collection/record/coverRetrievals.ts';
import {
  changeSource,
  listRetrievals,
  listSources,
  listWatchedSources,
  readSource,
  readWatchedSource,
  removeSource,
} from '../../../collection/sources/sources.ts';
import { readStats, readStatus } from '../../../collection/timeline/status.ts';
import type { SettingsStore } from '../../../store/settings.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { readBytes, requireMediaType } from '../../body/readJson.ts';
import { bodyChunks } from '../../body/requestBody.ts';
import { created, jobReply, noContentAfter, ok, page } from '../../reply.ts';

/** Handlers for sources, for visitors and for the owner. */
export function sourceHandlers(store: Store, collection: Collection) {
  return {
    listSources: ({ query, request }) => page(request, query, listSources(store, query)),
    readSource: ({ params }) => ok(readSource(store, params.id ?? '')),
    listWatchedSources: ({ query, request }) => page(request, query, listWatchedSources(store, query)),
    addSource: async ({ body, visitor }) => {
      if (!visitor.owner && !isDeepStrictEqual(body, newSourceSchema.parse({ url: body.url })))
        throw new Problem('owner_required', 'A paired browser can only give the address to watch.');
      const source = await collection.add(body);
      return created(source, `/manage/sources/${source.id}`);
    },
    previewSource: async ({ body }) => ok(await collection.preview(body.url, body.profile)),
    importSources: async ({ request, query: { capture } }) => {
      const mediaType = requireMediaType(request, Object.keys(LIST_MEDIA_TYPES));
      const bytes = await readBytes(bodyChunks(request), MAX_LIST_BYTES);
      const form = LIST_MEDIA_TYPES[mediaType as keyof typeof LIST_MEDIA_TYPES];
      return ok(await collection.importSources(form, bytes, capture));
    },
    readWatchedSource: ({ params }) => ok(readWatchedSource(store, params.id ?? '')),
    listRetrievals: ({ params, query, request }) =>
      page(request, query, listRetrievals(store, params.id ?? '', query)),
    proveRetrievals: async ({ query }) => ok(await proveRetrievals(store, query)),
    proveRetrieval: async ({ params }) => ok(await proveRetrieval(store, params.id ?? '')),
    changeSource: async ({ params, body }) => {
      const source = await changeSource(store, params.id ?? '', body);
      collection.wake();
      return ok(source);
    },
    removeSource: ({ params }) => noContentAfter(removeSource(store, params.id ?? '')),
    collect: ({ query, body }) => jobReply(query, collection.startRound(body?.sources)),
  } satisfies Partial<Handlers>;
}

/** Handlers for the addresses that followed sources link to. */
export function followHandlers(store: Store, collection: Collection) {
  return {
    listFound: ({ query, request }) => page(request, query, listFound(store, query)),
    previewFollow: async ({ body }) => ok(await collection.previewFollow(body)),
    approveFound: async ({ body }) => ok(await collection.approveFound(body)),
    refuseFound: async ({ body }) => ok(await refuseFound(store, body)),
  } satisfies Partial<Handlers>;
}

/** Handlers for the state of the collection. */
export function collectionHandlers(store: Store, settings: SettingsStore) {
  return {
    readStatus: async () => {
      const status = await readStatus(store, settings.current);
      return { status: status.ok ? 200 : 503, json: status };
    },
    readStats: () => ok(readStats(store)),
  } satisfies Partial<Handlers>;
}

/** Handlers for the logins with which sources are watched. */
export function profileHandlers(collection: Collection) {
  const { profiles } = collection;
  return {
    listProfiles: ({ query, request }) => page(request, query, profiles.list(query)),
    addProfile: async ({ body }) => {
      const profile = await profiles.add(body);
      return created(profile, `/manage/profiles/${profile.id}`);
    },
    readProfile: ({ params: { id = '' } }) => ok(profiles.read(id)),
    changeProfile: async ({ params: { id = '' }, body }) => ok(await profiles.change(id, body)),
    removeProfile: ({ params: { id = '' } }) => noContentAfter(profiles.remove(id)),
  } satisfies Partial<Handlers>;
}
