import { handInToCase } from '../../../cases/cases.ts';
import type { HandedIn } from '../../../collection/handedIn/handedIn.ts';
import {
  type ComparisonServices,
  listHandIns,
  readHandIn,
} from '../../../collection/handedIn/handInRecords.ts';
import type { Handlers } from '../../app.ts';
import { readHandedInUpload } from '../../body/handedInUpload.ts';
import { created, ok, page } from '../../reply.ts';

/** Handlers for what a person's own browser showed. */
export function handedInHandlers(
  handedIn: HandedIn,
  services: ComparisonServices,
  nodeName: string,
): Pick<Handlers, 'handIn' | 'listHandedIn' | 'readHandedIn'> {
  const { store } = services;
  return {
    handIn: async ({ query, request, visitor }) => {
      // Both the file and its decoded parts are on the disk at the same time.
      handedIn.requireRoom(2 * Number(request.headers['content-length'] ?? 0));
      const { received, fields } = await readHandedInUpload(request, handedIn, query);
      const by = { name: nodeName, isOwner: visitor.owner };
      const { handIn, isNew } = await handInToCase({ store, handedIn }, received, fields, by);
      return isNew ? created(handIn, `/manage/handed-in/${handIn.id}`) : ok(handIn);
    },
    listHandedIn: ({ query, request }) => page(request, query, listHandIns(store.read, query)),
    readHandedIn: async ({ params: { id = '' } }) => ok(await readHandIn(services, id)),
  };
}
