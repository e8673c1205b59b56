import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Event, EventsQuery } from '../../../../shared/collection/event.ts';
import { Problem } from '../../../../shared/problems.ts';
import type { Texts } from '../../../collection/derived/derived.ts';
import { readObjectText, searchObjectTexts } from '../../../collection/derived/search.ts';
import type { Diffs, FileDiffs } from '../../../collection/diff/diffs.ts';
import type { Summaries } from '../../../collection/diff/summaries.ts';
import type { Noise } from '../../../collection/noise/noise.ts';
import type { EventFeed } from '../../../collection/timeline/eventFeed.ts';
import {
  eventsCsv,
  listEvents,
  readEventDensity,
  readEventDetails,
  readEventObservers,
  readEventQuality,
  readEventRetrieval,
  readEventsAfter,
  readLastEventId,
  withReadableSummaries,
} from '../../../collection/timeline/events.ts';
import { type ArchivedObject, readObject, readObjectMetadata } from '../../../collection/timeline/objects.ts';
import { changeSeen, readSeen } from '../../../collection/timeline/seen.ts';
import type { PageCache } from '../../../collection/view/pageCache.ts';
import { pageResources, readArchivedPage, readObjectView } from '../../../collection/view/readView.ts';
import type { Log } from '../../../runtime/log.ts';
import type { Store } from '../../../store/store.ts';
import type { Reader } from '../../../withholding/withholding.ts';
import type { Handlers } from '../../app.ts';
import { type BlobResponse, storedBlobReply, withheldHeaders } from '../../delivery/blobs.ts';
import { RowFeed } from '../../delivery/eventStream.ts';
import { attachmentHeaders, CSV_TYPE, type Exports } from '../../delivery/exports.ts';
import { isFresh } from '../../delivery/ranges.ts';
import { interfaceMissing } from '../../delivery/renderer.ts';
import { sendJsonWithEtag } from '../../delivery/text.ts';
import { accepted, ok, okText, page, type Reply } from '../../reply.ts';
import type { PublicAddress } from '../../security/addresses.ts';

/** Handlers for the timeline, and for what the owner has seen of it. */
export function eventHandlers(
  store: Store,
  nodeName: string,
  {
    exports,
    publicAddress,
    summaries,
    log,
  }: { exports: Exports; publicAddress: PublicAddress; summaries: Pick<Summaries, 'want'>; log: Log },
) {
  const list = async (query: EventsQuery, { seen, withSummaries, reader }: ListOptions) => {
    const slice = await listEvents(store, query, seen);
    if (!withSummaries) return { ...slice, items: slice.items.map(withoutSummary) };
    summaries.want(slice.items);
    return { ...slice, items: withReadableSummaries(store.read, slice.items, reader) };
  };
  const rowFeed = new RowFeed({
    read: (after, limit) => readEventsAfter(store, after, limit).map(withoutSummary),
    onCommit: store.onCommit,
    log,
  });
  return {
    listEvents: async ({
      query: { format, summaries: withSummaries, ...query },
      request,
      visitor: reader,
    }) => {
      if (format === undefined) return page(request, query, await list(query, { withSummaries, reader }));
      if (format === 'csv')
        return exports.streamReply(attachmentHeaders(CSV_TYPE, 'events.csv'), () =>
          eventsCsv(store, query, reader),
        );
      throw new Problem('invalid_format', 'Set format to csv, or omit it to get JSON.');
    },
    listOwnEvents: async ({
      query: { seen, summaries: withSummaries, ...query },
      request,
      visitor: reader,
    }) => page(request, query, await list(query, { seen, withSummaries, reader })),
    readSeen: async () => ok(await readSeen(store)),
    changeSeen: async ({ body }) => ok(await changeSeen(store, body)),
    readEventFeed: async ({ query, request }) => {
      const origin = publicAddress.originOf(request);
      // Loads the feed library with the first feed.
      const { readEventFeed } = await import('../../../collection/timeline/eventFeed.ts');
      return feed(await readEventFeed(store, query, { origin, self: request.originalUrl, nodeName }));
    },
    readEventDensity: async ({ query }) => ok(await readEventDensity(store, query)),
    readEventQuality: async ({ params, visitor }) =>
      ok(await readEventQuality(store, params.id ?? '', visitor)),
    readEventObservers: ({ params }) => ok(readEventObservers(store, params.id ?? '')),
    readEventRetrieval: ({ params }) => ok(readEventRetrieval(store, params.id ?? '')),
    readEvent: ({ params }) => ok(withoutSummary(readEventDetails(store, params.id ?? ''))),
    streamEvents: ({ request }) => {
      const last = readLastEventId(store);
      const resumed = Number(/^\d{1,15}$/.exec(request.get('Last-Event-ID') ?? '')?.[0] ?? last);
      return {
        write: (response) => rowFeed.open(response, Math.min(resumed, last)),
      };
    },
  } satisfies Partial<Handlers>;
}

interface ListOptions {
  seen?: boolean | undefined;
  withSummaries?: boolean | undefined;
  reader: Reader;
}

/** A summary is derived some time after its event, so a row has one only if it is asked for. */
function withoutSummary<Row extends Event>({ summary: _derived, ...row }: Row): Omit<Row, 'summary'> {
  return row;
}

/** It has no date: summaries are made later than events, and those of what is withheld go. */
function feed({ xml, etag }: EventFeed): Reply {
  return {
    write: (response) => {
      response.set({ 'Cache-Control': 'no-cache', ETag: etag });
      if (isFresh(response.req, { etag, lastModified: undefined })) return void response.status(304).end();
      response.set('Content-Type', 'application/atom+xml; charset=utf-8').send(xml);
    },
  };
}

/** Handlers for diffs and noise rules. */
export function diffHandlers(store: Store, diffs: Diffs, noise: Noise, fileDiffs: FileDiffs) {
  return {
    compareObjects: async ({ query }) => ok(await fileDiffs.compareObjects(query.from, query.to)),
    readDiff: async ({ params, request, visitor }) => {
      const diff = await diffs.diffOf(params.id ?? '', visitor);
      const digests = [diff.from.sha256, diff.to.sha256];
      return sendJsonWithEtag(request, diff, withheldHeaders(store.read, digests, visitor));
    },
    runNoiseRules: ({ params }) => accepted(noise.startRun(params.id ?? '').job),
    previewNoiseRules: async ({ params, body }) => ok(await noise.preview(params.id ?? '', body)),
    findChosenPart: async ({ params, body }) => ok(await noise.findChoices(params.id ?? '', body)),
  } satisfies Partial<Handlers>;
}

/** Handlers for texts derived from archived objects. Responses are JSON, so no archived script can run. */
export function derivedHandlers(store: Store, texts: Texts) {
  return {
    searchTexts: async ({ query, request, visitor }) =>
      page(request, query, await searchObjectTexts(store, query, visitor)),
    readObjectText: async ({ params, visitor }) =>
      okText(await readObjectText(store, texts, params.sha256 ?? '', visitor)),
  } satisfies Partial<Handlers>;
}

/** What every policy of an archived page says: it may load nothing, because everything that it shows is in it. */
const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  'media-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  // A click on one of its links, which lead to the interface only, may open it in the whole window.
  'Content-Security-Policy': `${PAGE_POLICY}; sandbox allow-top-navigation-by-user-activation`,
  'X-Frame-Options': 'SAMEORIGIN',
  // Captures may be added. Images do not get smaller by compression.
  'Cache-Control': 'no-store, no-transform',
};

/** Handlers that show archived objects. */
export function viewHandlers(
  store: Store,
  pages: PageCache,
  readChooserScript: () => Promise<Buffer | undefined>,
) {
  return {
    readObjectView: async ({ params: { sha256 = '' }, query, visitor }) =>
      ok(await readObjectView(store, sha256, query, visitor)),
    readArchivedPage: async ({ params: { sha256 = '' }, query, visitor }) => {
      const { html } = await readArchivedPage(store, pages, { sha256, query }, visitor);
      return { write: (response) => void response.set(PAGE_HEADERS).send(Buffer.from(html)) };
    },
    readChoosingPage: async ({ params: { sha256 = '' }, query, visitor }) => {
      const made = await readArchivedPage(store, pages, { sha256, query }, visitor);
      const { html, policy } = choosingPage(made.html, await readChooserScript());
      const headers = { ...PAGE_HEADERS, 'Content-Security-Policy': policy };
      return { write: (response) => void response.set(headers).send(html) };
    },
    readPageResources: async ({ params: { sha256 = '' }, query, visitor }) =>
      ok(pageResources(sha256, await readArchivedPage(store, pages, { sha256, query }, visitor))),
  } satisfies Partial<Handlers>;
}

/** Where a made page says its encoding, first in its head. Nothing else in it can look like this: `<` is escaped there. */
const HEAD = Buffer.from('<meta charset="utf-8">');
const START = Buffer.from('<script>');
const END = Buffer.from('</script>');

/**
 * Puts the script that lets a person choose an element into an archived page. The page has no scripts of its own. If it
 * had, the policy would allow the node's script only, by its hash, in a sandbox with an origin of its own and no way to
 * navigate.
 *
 * @param html a page as `makePage` returns it
 * @param script undefined if the interface was not built
 * @throws Problem `interface_missing`
 */
function choosingPage(html: Uint8Array, script: Buffer | undefined): { html: Buffer; policy: string } {
  if (!script) throw interfaceMissing('Then choose again.');
  const hash = createHash('sha256').update(script).digest('base64');
  const page = Buffer.from(html);
  const at = page.indexOf(HEAD) + HEAD.length;
  return {
    html: Buffer.concat([page.subarray(0, at), START, script, END, page.subarray(at)]),
    policy: `${PAGE_POLICY}; script-src 'sha256-${hash}'; sandbox allow-scripts`,
  };
}

/**
 * The policy prevents an archived page from running scripts or loading anything when a browser shows it. A cache asks
 * before it sends a copy, which costs no bytes: what strangers published may have to be withheld from visitors.
 */
export const SANDBOX_HEADERS = {
  'Content-Security-Policy': "sandbox; default-src 'none'",
  Vary: 'Sec-Fetch-Dest',
  'Cache-Control': 'public, no-cache',
};
/** The policy only works for documents. If a page loads an object as a script, its type is hidden, so browsers refuse it. */
const PASSIVE_USES: ReadonlySet<unknown> = new Set(['document', 'empty', 'image', 'audio', 'video', 'track']);

/** Handlers for archived objects. */
export function objectHandlers(store: Store) {
  return {
    readObject: ({ params: { sha256 = '' }, request, visitor }) =>
      storedBlobReply(store, request, sandboxed(readObject(store, sha256), request), visitor),
    readObjectMetadata: async ({ params }) => ok(await readObjectMetadata(store, params.sha256 ?? '')),
  } satisfies Partial<Handlers>;
}

/** Returns how an archived object is sent in response to a request. */
export function sandboxed(
  { contentType, ...blob }: ArchivedObject,
  { headers }: Pick<IncomingMessage, 'headers'>,
): BlobResponse {
  const use = headers['sec-fetch-dest'];
  const isPassive = use === undefined || PASSIVE_USES.has(use);
  return {
    blob,
    options: {
      contentType: isPassive ? contentType : 'application/octet-stream',
      disposition: 'attachment',
      headers: SANDBOX_HEADERS,
    },
  };
}
