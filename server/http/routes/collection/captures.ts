import { mementoImportSchema } from '../../../../shared/collection/captures.ts';
import { MAX_CAPTURE_FILE_BYTES, MAX_JSON_BYTES, MAX_JSON_VALUES } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { WACZ_MEDIA_TYPES, WARC_MEDIA_TYPES } from '../../../../shared/routes/collection/captures.ts';
import { handInToCase } from '../../../cases/cases.ts';
import type { Captures } from '../../../collection/captures/captures.ts';
import {
  findObservedSource,
  httpDate,
  linkHeader,
  mementoAddresses,
  nearestMoment,
  neighboursOf,
  readMemento,
  sentEncoding,
  timeMapJson,
  timeMapLinks,
} from '../../../collection/captures/memento/mementos.ts';
import { exportWacz, type PackageServices } from '../../../collection/captures/wacz/exportWacz.ts';
import { exportWarc } from '../../../collection/captures/warc/exportWarc.ts';
import type { Collection } from '../../../collection/collection.ts';
import type { Deriver } from '../../../collection/derived/process/deriver.ts';
import type { FileDiffs } from '../../../collection/diff/diffs.ts';
import type { HandedIn } from '../../../collection/handedIn/handedIn.ts';
import {
  type ComparisonServices,
  listHandIns,
  readHandIn,
} from '../../../collection/handedIn/handInRecords.ts';
import { comparePages, findPage, listPageCaptures, Thumbnails } from '../../../collection/pages/readPages.ts';
import { readObject } from '../../../collection/timeline/objects.ts';
import type { Store } from '../../../store/store.ts';
import { madeOfReadable, marksOf, requireReadable } from '../../../withholding/withholding.ts';
import type { Handlers } from '../../app.ts';
import { readHandedInUpload } from '../../body/handedInUpload.ts';
import { checkBody, readJson, requireMediaType } from '../../body/readJson.ts';
import { checkedBodyChunks } from '../../body/requestBody.ts';
import { storedBlobReply, withheldHeaders } from '../../delivery/blobs.ts';
import { attachmentHeaders, type Exports, streamReply } from '../../delivery/exports.ts';
import { isFresh } from '../../delivery/ranges.ts';
import { accepted, type Call, created, ok, page, type WrittenReply } from '../../reply.ts';
import type { PublicAddress } from '../../security/addresses.ts';
import { SANDBOX_HEADERS, sandboxed } from './events.ts';

/** Handlers for captures made by third parties. */
export function captureHandlers(captures: Captures) {
  return {
    importCaptures: async ({ query: { observer, wait }, request }) => {
      const mediaType = requireMediaType(request, [
        ...WARC_MEDIA_TYPES,
        ...WACZ_MEDIA_TYPES,
        'application/json',
      ]);
      const { job, finished } =
        mediaType === 'application/json'
          ? captures.startTimeMap(
              observer,
              checkBody(
                mementoImportSchema,
                await readJson(request, { maxBytes: MAX_JSON_BYTES, maxValues: MAX_JSON_VALUES }),
              ),
            )
          : await captures.startFile(
              observer,
              checkedBodyChunks(request, MAX_CAPTURE_FILE_BYTES, fileTooLarge),
            );
      return wait === false ? accepted(job) : ok(await finished);
    },
  } satisfies Partial<Handlers>;
}

function fileTooLarge(): Problem {
  return new Problem('body_too_large', `A capture file can have at most ${MAX_CAPTURE_FILE_BYTES} bytes.`);
}

const LINK_FORMAT = { 'Content-Type': 'application/link-format; charset=utf-8' };
const JSON_FORMAT = { 'Content-Type': 'application/json; charset=utf-8' };

/** Handlers for the Memento protocol (RFC 7089). */
export function mementoHandlers(store: Store, publicAddress: PublicAddress) {
  const originOf = publicAddress.originOf.bind(publicAddress);
  const linksOf = ({ params, request }: Pick<Call, 'params' | 'request'>) => {
    const observed = findObservedSource(store, params.url ?? '');
    return streamReply(LINK_FORMAT, () => timeMapLinks(store, observed, originOf(request)));
  };
  return {
    readTimeMap: linksOf,
    readTimeMapLinks: linksOf,
    readTimeMapJson: ({ params, request }) => {
      const observed = findObservedSource(store, params.url ?? '');
      return streamReply(JSON_FORMAT, () => timeMapJson(store, observed, originOf(request)));
    },
    readTimeGate: ({ params, request }) => {
      const observed = findObservedSource(store, params.url ?? '');
      const wanted = request.get('Accept-Datetime');
      const moment = nearestMoment(store, observed, wanted === undefined ? undefined : parseHttpDate(wanted));
      const origin = originOf(request);
      return {
        write: (response) =>
          void response
            .status(302)
            .set({
              'Cache-Control': 'no-store',
              Vary: 'accept-datetime',
              Location: mementoAddresses(origin, observed.url).memento(moment),
              Link: linkHeader(observed, origin, neighboursOf(store, observed, moment)),
            })
            .end(),
      };
    },
    readMemento: async ({ params, request, visitor }) => {
      const { observed, object, contentEncoding, ...place } = readMemento(
        store,
        params.time ?? '',
        params.url ?? '',
      );
      // Before the bytes are looked at for their encoding.
      requireReadable(store.read, object.sha256, visitor);
      const { blob, options } = sandboxed(object, request);
      const encoding = await sentEncoding(store, object.sha256, contentEncoding);
      const headers = {
        ...options.headers,
        ...(encoding !== undefined && {
          'Content-Encoding': encoding,
          Vary: `${SANDBOX_HEADERS.Vary}, Accept-Encoding`,
        }),
        'Memento-Datetime': httpDate(place.moment),
        Link: linkHeader(observed, originOf(request), place),
        // The bytes never change, but the links to neighbours do.
        'Cache-Control': 'no-cache',
      };
      return storedBlobReply(store, request, { blob, options: { ...options, headers } }, visitor);
    },
  } satisfies Partial<Handlers>;
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

/** Parses Accept-Datetime, which is an HTTP date (RFC 7089, section 2.1.1.1). */
function parseHttpDate(date: string): number {
  const text = date.trim();
  const instant = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse accepts 30 February and returns a day in March, so the result is compared with the input.
  if (Number.isNaN(instant) || new Date(instant).toUTCString().slice(5) !== text.slice(5)) {
    throw new Problem(
      'invalid_datetime',
      'Accept-Datetime must be a date such as Fri, 20 Nov 2026 10:14:21 GMT. Omit it to get the newest memento.',
    );
  }
  return instant;
}

/** Handlers for the export of WARC files and WACZ packages. */
export function warcHandlers(services: PackageServices, exports: Exports) {
  return {
    exportWarc: ({ query, visitor }) => {
      const { filename, bytes } = exportWarc(services.store, services.exporter, query, visitor);
      return exports.streamReply(attachmentHeaders('application/warc', filename), bytes);
    },
    exportWacz: ({ query, visitor }) => {
      const { filename, bytes } = exportWacz(services, query, visitor);
      return exports.streamReply(attachmentHeaders('application/wacz', filename), bytes);
    },
  } satisfies Partial<Handlers>;
}

/** Handlers for what a person's own browser showed. */
export function handedInHandlers(handedIn: HandedIn, services: ComparisonServices, nodeName: string) {
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
  } satisfies Partial<Handlers>;
}

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
) {
  const { draws } = collection;
  const thumbnails = new Thumbnails(store, deriver);
  return {
    listPages: ({ query, request }) => page(request, query, listPageCaptures(store, query)),
    readPage: ({ params: { id = '' }, visitor }) => {
      const page = findPage(store, id);
      const draw = visitor.owner ? draws.find(id)?.draw : undefined;
      if (!page && !draw) throw notFound();
      return ok(page ? { ...page, ...marksOf(store.read, page.document) } : draw);
    },
    readPagePart: async ({ params: { id = '', part = '' }, visitor, request }) => {
      const page = findPage(store, id);
      if (page && part === 'thumbnail') {
        const png = await madeOfReadable(
          () => requireReadable(store.read, page.picture, visitor),
          () => thumbnails.of(page.picture),
        );
        return sendThumbnail(page.picture, png, withheldHeaders(store.read, [page.picture], visitor));
      }
      const name = PARTS.find((known) => known === part);
      if (!name) throw notFound();
      if (page) {
        const object = { ...readObject(store, page[name]), contentType: MEDIA_TYPES[name] };
        return storedBlobReply(store, request, sandboxed(object, request), visitor);
      }
      const draw = visitor.owner ? draws.find(id) : undefined;
      if (!draw) throw notFound();
      return {
        write: (response) =>
          void response
            .set({ ...SANDBOX_HEADERS, 'Cache-Control': 'no-store' })
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
  } satisfies Partial<Handlers>;
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
      response.set({ ...SANDBOX_HEADERS, 'Cache-Control': 'private, no-cache', ETag: etag, ...headers });
      if (isFresh(response.req, { etag, lastModified: undefined })) return void response.status(304).end();
      response.type(MEDIA_TYPES.picture).send(Buffer.from(png));
    },
  };
}

function notFound(): Problem {
  return new Problem('not_found', 'There is no such page capture.');
}
