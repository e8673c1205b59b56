import type { Response } from 'express';
import { showWithParts, withholdWithParts } from '../../archive/sets/withholdSet.ts';
import type { Copies } from '../../copies/copies.ts';
import type { Offloading } from '../../copies/offload/offloading.ts';
import { exportArchive } from '../../dump/exportArchive.ts';
import { writeDump } from '../../dump/restoreDump.ts';
import { listDamagedFiles, listDamages } from '../../fixity/damages.ts';
import { type FixityService, listAudits } from '../../fixity/fixity.ts';
import { listLostAndFound } from '../../fixity/lostAndFound.ts';
import type { Checkpoints } from '../../ledger/checkpoints.ts';
import type { Store } from '../../store/store.ts';
import { previewRelease, release } from '../../withholding/release.ts';
import {
  listReleases,
  listWithheldObjects,
  listWithholdings,
  readWithheldState,
} from '../../withholding/withholding.ts';
import type { Handlers } from '../app.ts';
import { attachmentHeaders, type Exports, streamReply } from '../delivery/exports.ts';
import { created, jobReply, noContentAfter, ok, page, pageOfAll } from '../reply.ts';

/** Handlers for the copies of the archive, and for the offloaded objects. */
export function copyHandlers(copies: Copies, offloading: Offloading) {
  return {
    keepKeyInCopy: async ({ params, body }) => ok(await copies.keepKey(params.id ?? '', body.passphrase)),
    removeKeyFromCopy: ({ params }) => noContentAfter(copies.removeKey(params.id ?? '')),
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
    removeCopy: ({ params }) => noContentAfter(copies.remove(params.id ?? '')),
    syncCopy: ({ params, query }) => jobReply(query, copies.sync(params.id ?? '')),
    drillCopy: ({ params, query }) => jobReply(query, copies.drill(params.id ?? '')),
    markCopyLost: ({ params, query }) => jobReply(query, copies.markLost(params.id ?? '')),
    checkCopy: ({ params, query, body }) => jobReply(query, copies.check(params.id ?? '', body?.sample)),
  } satisfies Partial<Handlers>;
}

/** Handlers for what visitors may not read, and for what was given up. */
export function withheldHandlers(store: Store) {
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
  } satisfies Partial<Handlers>;
}

/** Handlers for audits and damage. */
export function fixityHandlers(store: Store, fixity: FixityService) {
  return {
    listDamages: ({ query, request }) => page(request, query, listDamages(store, query)),
    listDamagedFiles: ({ params, query, request }) =>
      page(request, query, listDamagedFiles(store, params.id ?? '', query)),
    listAudits: ({ query, request }) => page(request, query, listAudits(store, query)),
    listLostAndFound: ({ query, request }) => page(request, query, listLostAndFound(store, query)),
    startAudit: ({ query }) => jobReply(query, fixity.startAudit()),
  } satisfies Partial<Handlers>;
}

export function dumpHandlers(store: Store, checkpoints: Checkpoints, exports: Exports) {
  const headers = attachmentHeaders('application/x-ndjson; charset=utf-8', 'dump.jsonl');
  return {
    readDump: () => exports.streamReply(headers, () => writeDump(store, checkpoints)),
    readArchive: () => exports.limited({ write: (response) => sendArchive(response, store, checkpoints) }),
  } satisfies Partial<Handlers>;
}

async function sendArchive(response: Response, store: Store, checkpoints: Checkpoints): Promise<void> {
  const headers = attachmentHeaders('application/zip', 'strongroom-archive.zip');
  if (response.req.method === 'HEAD') return streamReply(headers, () => []).write(response);
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const { blobs, bytes, zip, close } = await exportArchive(store, checkpoints, closed.signal);
  try {
    const counts = { 'Strongroom-Export': `blobs=${blobs}, bytes=${bytes}` };
    await streamReply({ ...headers, ...counts }, () => zip as AsyncIterable<Buffer>).write(response);
  } finally {
    await close();
  }
}
