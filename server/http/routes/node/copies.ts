import type { Copies } from '../../../copies/copies.ts';
import type { Offloading } from '../../../copies/offload/offloading.ts';
import type { Handlers } from '../../app.ts';
import { created, jobReply, noContent, ok, pageOfAll } from '../../reply.ts';

type CopyRoutes =
  | 'listCopies'
  | 'addCopy'
  | 'changeCopy'
  | 'removeCopy'
  | 'syncCopy'
  | 'checkCopy'
  | 'drillCopy'
  | 'markCopyLost'
  | 'keepKeyInCopy'
  | 'removeKeyFromCopy'
  | 'readOffload'
  | 'offload'
  | 'bringBack'
  | 'readObjectPlaces';

/** Handlers for the copies of the archive, and for the offloaded objects. */
export function copyHandlers(copies: Copies, offloading: Offloading): Pick<Handlers, CopyRoutes> {
  return {
    keepKeyInCopy: async ({ params, body }) => ok(await copies.keepKey(params.id ?? '', body.passphrase)),
    removeKeyFromCopy: async ({ params }) => {
      await copies.removeKey(params.id ?? '');
      return noContent;
    },
    readOffload: () => ok(offloading.state()),
    offload: ({ query }) => jobReply(query, offloading.start()),
    bringBack: ({ query }) => jobReply(query, offloading.bringBack()),
    readObjectPlaces: async ({ params }) => ok(await offloading.placesOf(params.sha256 ?? '')),
    listCopies: async ({ query, request }) => pageOfAll(request, query, await copies.list()),
    addCopy: async ({ body }) => {
      const copy = await copies.add(body);
      return created(copy, `/manage/copies/${copy.id}`);
    },
    changeCopy: async ({ params, body }) => ok(await copies.change(params.id ?? '', body)),
    removeCopy: async ({ params }) => {
      await copies.remove(params.id ?? '');
      return noContent;
    },
    syncCopy: ({ params, query }) => jobReply(query, copies.sync(params.id ?? '')),
    drillCopy: ({ params, query }) => jobReply(query, copies.drill(params.id ?? '')),
    markCopyLost: ({ params, query }) => jobReply(query, copies.markLost(params.id ?? '')),
    checkCopy: ({ params, query, body }) => jobReply(query, copies.check(params.id ?? '', body?.sample)),
  };
}
