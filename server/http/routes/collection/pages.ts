import { Problem } from '../../../../shared/problems.ts';
import type { Collection } from '../../../collection/collection.ts';
import type { Deriver } from '../../../collection/derived/process/deriver.ts';
import type { FileDiffs } from '../../../collection/diff/diffs.ts';
import { comparePages, findPage, pagesBefore, Thumbnails } from '../../../collection/pages/readPages.ts';
import { readObject } from '../../../collection/timeline/objects.ts';
import type { Store } from '../../../store/store.ts';
import { marksOf, requireReadable } from '../../../withholding/withholding.ts';
import type { Handlers } from '../../app.ts';
import { storedBlobReply, withheldHeaders } from '../../delivery/blobs.ts';
import { isFresh } from '../../delivery/ranges.ts';
import { created, nextPath, ok, type WrittenReply } from '../../reply.ts';
import { SEALED, sealed } from './events.ts';

const PARTS = ['picture', 'text', 'document'] as const;
type Part = (typeof PARTS)[number];

const MEDIA_TYPES: Record<Part, string> = {
  picture: 'image/png',
  text: 'text/plain; charset=utf-8',
  document: 'text/html; charset=utf-8',
};

/** Handlers for pages as a browser drew them. */
export function pageHandlers(
  store: Store,
  collection: Collection,
  fileDiffs: FileDiffs,
  deriver: Pick<Deriver, 'derive'>,
): Pick<
  Handlers,
  | 'listPages'
  | 'readPage'
  | 'readPagePart'
  | 'comparePages'
  | 'drawPage'
  | 'drawUrl'
  | 'capturePage'
  | 'fetchMissing'
> {
  const { draws } = collection;
  const thumbnails = new Thumbnails(store, deriver);
  return {
    listPages: ({ query, request }) => {
      const { items, hasMore } = pagesBefore(store, query);
      const next = hasMore ? nextPath(request, 'before', items.at(-1)?.id ?? '') : null;
      return ok({ items, limit: query.limit, next });
    },
    readPage: ({ params: { id = '' }, visitor }) => {
      const page = findPage(store, id);
      const draw = visitor.owner ? draws.find(id)?.draw : undefined;
      if (!page && !draw) throw notFound();
      return ok(page ? { ...page, ...marksOf(store.read, page.document) } : draw);
    },
    readPagePart: async ({ params: { id = '', part = '' }, visitor, request }) => {
      const page = findPage(store, id);
      if (page && part === 'thumbnail') {
        requireReadable(store.read, page.picture, visitor);
        const headers = withheldHeaders(store.read, [page.picture], visitor);
        return sendThumbnail(page.picture, await thumbnails.of(page.picture), headers);
      }
      const name = PARTS.find((known) => known === part);
      if (!name) throw notFound();
      if (page) {
        const object = { ...readObject(store, page[name]), contentType: MEDIA_TYPES[name] };
        return storedBlobReply(store, request, sealed(object, request), visitor);
      }
      const draw = visitor.owner ? draws.find(id) : undefined;
      if (!draw) throw notFound();
      return {
        write: (response) =>
          void response
            .set({ ...SEALED, 'Cache-Control': 'no-store' })
            .type(MEDIA_TYPES[name])
            .send(draw.outputs[name]),
      };
    },
    comparePages: async ({ params: { id = '', other = '' }, visitor }) =>
      ok(await comparePages({ store, fileDiffs, deriver }, [id, other], visitor)),
    drawPage: async ({ params: { id = '' } }) => ok(await draws.drawPage(id)),
    drawUrl: async ({ body: { url, at } }) => ok(await draws.drawUrl(url, at)),
    capturePage: async ({ body: { url } }) => {
      const page = await collection.capturePage(url);
      return created(page, `/archive/pages/${page.id}`);
    },
    fetchMissing: async ({ body: { urls } }) => ok(await collection.fetchMissing(urls)),
  };
}

/** A browser asks before it shows the one that it keeps, because the picture may have been withheld. */
function sendThumbnail(
  picture: string,
  png: Uint8Array,
  headers: Readonly<Record<string, string>>,
): WrittenReply {
  const etag = `"thumbnail-${picture}"`;
  return {
    write: (response) => {
      response.set({ ...SEALED, 'Cache-Control': 'private, no-cache', ETag: etag, ...headers });
      if (isFresh(response.req, { etag, lastModified: undefined })) return void response.status(304).end();
      response.type(MEDIA_TYPES.picture).send(Buffer.from(png));
    },
  };
}

function notFound(): Problem {
  return new Problem('not_found', 'There is no such page capture.');
}
