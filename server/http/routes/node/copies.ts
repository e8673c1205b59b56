import type { Copies } from '../../../copies/copies.ts';
import type { Offloading } from '../../../copies/offload/offloading.ts';
import type { Handlers } from '../../app.ts';
import { accepted, created, noContent, ok, page } from '../../reply.ts';

type CopyRoutes =
  | 'listCopies'
  | 'addCopy'
  | 'changeCopy'
  | 'removeCopy'
  | 'syncCopy'
  | 'checkCopy'
  | 'giveUpCopy'
  | 'keepKeyInCopy'
  | 'removeKeyFromCopy'
  | 'readOffload'
  | 'offload'
  | 'bringBack'
  | 'readObjectPlaces';

/** Handlers for the copies of the archive, and for the objects that have left this disk. */
export function copyHandlers(copies: Copies, offloading: Offloading): Pick<Handlers, CopyRoutes> {
  return {
    keepKeyInCopy: async ({ params, body }) => ok(await copies.keepKey(params.id ?? '', body.passphrase)),
    removeKeyFromCopy: async ({ params }) => {
      await copies.removeKey(params.id ?? '');
      return noContent;
    },
    readOffload: () => ok(offloading.state()),
    offload: async ({ query }) => {
      const { job, finished } = offloading.start();
      return query.wait ? ok(await finished) : accepted(job);
    },
    bringBack: async ({ query }) => {
      const { job, finished } = offloading.bringBack();
      return query.wait ? ok(await finished) : accepted(job);
    },
    readObjectPlaces: async ({ params }) => ok(await offloading.placesOf(params.sha256 ?? '')),
    listCopies: async ({ query, request }) => {
      const all = await copies.list();
      const { offset, limit } = query;
      return page(request, query, { items: all.slice(offset, offset + limit), total: all.length });
    },
    addCopy: async ({ body }) => {
      const copy = await copies.add(body);
      return created(copy, `/manage/copies/${copy.id}`);
    },
    changeCopy: async ({ params, body }) => ok(await copies.change(params.id ?? '', body)),
    removeCopy: async ({ params }) => {
      await copies.remove(params.id ?? '');
      return noContent;
    },
    syncCopy: async ({ params, query }) => {
      const { job, finished } = copies.sync(params.id ?? '');
      return query.wait ? ok(await finished) : accepted(job);
    },
    giveUpCopy: async ({ params, query }) => {
      const { job, finished } = copies.giveUp(params.id ?? '');
      return query.wait ? ok(await finished) : accepted(job);
    },
    checkCopy: async ({ params, query, body }) => {
      const { job, finished } = copies.check(params.id ?? '', body?.sample);
      return query.wait ? ok(await finished) : accepted(job);
    },
  };
}
