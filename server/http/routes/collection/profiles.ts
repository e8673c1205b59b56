import type { Collection } from '../../../collection/collection.ts';
import type { Handlers } from '../../app.ts';
import { created, noContent, ok, page } from '../../reply.ts';

type ProfileRoutes = 'listProfiles' | 'addProfile' | 'readProfile' | 'changeProfile' | 'removeProfile';

/** Handlers for the logins with which sources are watched. */
export function profileHandlers(collection: Collection): Pick<Handlers, ProfileRoutes> {
  const { profiles } = collection;
  return {
    listProfiles: ({ query, request }) => page(request, query, profiles.list(query)),
    addProfile: async ({ body }) => {
      const profile = await profiles.add(body);
      return created(profile, `/manage/profiles/${profile.id}`);
    },
    readProfile: ({ params: { id = '' } }) => ok(profiles.read(id)),
    changeProfile: async ({ params: { id = '' }, body }) => ok(await profiles.change(id, body)),
    removeProfile: async ({ params: { id = '' } }) => {
      await profiles.remove(id);
      return noContent;
    },
  };
}
