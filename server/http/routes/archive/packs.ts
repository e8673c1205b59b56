import type { Request } from 'express';
import {
  CITATION_MEDIA_TYPES,
  type CitationFormat,
  MAX_CITATION_FILE_BYTES,
} from '../../../../shared/archive/recordImport.ts';
import { GIGABYTE } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { pathOf } from '../../../../shared/routes/route.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import type { Drafts } from '../../../archive/drafts/drafts.ts';
import { addPack } from '../../../archive/packs/addPack.ts';
import { packTooLarge } from '../../../archive/packs/checkRecord.ts';
import { comparePacks, filesToCompare } from '../../../archive/packs/comparePacks.ts';
import { PackFiles } from '../../../archive/packs/file/writePackFile.ts';
import { flagPack, listPackDeposits } from '../../../archive/packs/packRows.ts';
import {
  digestsOfPack,
  listPacks,
  lookUpDigests,
  packsOfBlob,
  readBlob,
  readMarkedPackText,
  readPackText,
  requirePack,
} from '../../../archive/packs/readPack.ts';
import { listEntries } from '../../../archive/sets/listEntries.ts';
import { type OpenedSet, requireSet } from '../../../archive/sets/readSet.ts';
import {
  digestsOfFile,
  readParts,
  requireFile,
  requireIntactParts,
  requireSetReadable,
} from '../../../archive/sets/setBytes.ts';
import { SetZips } from '../../../archive/sets/setZip.ts';
import { verifyWithParts } from '../../../archive/sets/verifySet.ts';
import { readSignposts } from '../../../citations/signposts.ts';
import type { FileDiffs } from '../../../collection/diff/diffs.ts';
import { fillDraftRecord, listCitationEntries } from '../../../repositories/citations/citations.ts';
import type { Deposits } from '../../../repositories/deposit/deposits.ts';
import type { Imports } from '../../../repositories/importRecord.ts';
import type { SettingsStore } from '../../../store/settings.ts';
import type { Store } from '../../../store/store.ts';
import {
  madeOfReadable,
  requireAllReadable,
  requireReadable,
  whileReadable,
} from '../../../withholding/withholding.ts';
import type { Handlers } from '../../app.ts';
import { readPackUpload } from '../../body/packUpload.ts';
import { readBytes, requireMediaType } from '../../body/readJson.ts';
import { bodyChunks, checkedBodyChunks } from '../../body/requestBody.ts';
import {
  type BlobResponse,
  type SentBlobOptions,
  storedBlobReply,
  withheldHeaders,
} from '../../delivery/blobs.ts';
import { linkHeader } from '../../delivery/itemPages.ts';
import { sendPackFile, sendRanges } from '../../delivery/ranges.ts';
import { sendJsonWithEtag } from '../../delivery/text.ts';
import {
  accepted,
  created,
  createdText,
  noContentAfter,
  ok,
  okText,
  page,
  pageOfTexts,
  withList,
} from '../../reply.ts';
import type { PublicAddress } from '../../security/addresses.ts';

export function packsHandlers(store: Store, settings: SettingsStore, publicAddress: PublicAddress) {
  const addressOf = (id: string) => pathOf(ROUTES.readPack.path, { id });
  const packFiles = new PackFiles(store);
  return {
    listPacks: ({ query, request }) => pageOfTexts(request, query, listPacks(store, query)),
    addPack: async ({ query: { piece_of: pieceOf }, request, visitor, admitted }) => {
      if (pieceOf !== undefined && !visitor.owner) throw onlyOwnersPieces();
      const upload = await readPackUpload(request, store);
      const { id, created, text } = await addPack(admitted.store, {
        ...upload,
        pieceOf,
        setLimits: {
          maxBytes: settings.current.max_set_gb * GIGABYTE,
          mayTakePacks: visitor.owner,
          reader: visitor,
        },
        reserveSpace: admitted.reserveSpace,
        repairStore: store,
      });
      return created ? createdText(text, addressOf(id)) : okText(text);
    },
    readPack: ({ params: { id = '' }, request }) => ({
      ...okText(readMarkedPackText(store.read, id)),
      headers: { Link: linkHeader(readSignposts(store, id, publicAddress.originOf(request))) },
    }),
    readPackFile: ({ params: { id = '' }, request, visitor }) => {
      const pack = requirePack(store.read, id);
      const digests = digestsOfPack(store.read, pack);
      requireAllReadable(store.read, digests, visitor);
      const headers = withheldHeaders(store.read, digests, visitor);
      const stillReadable = whileReadable(store.read, () => requireAllReadable(store.read, digests, visitor));
      const sent = { pack, headers, stillReadable };
      return { write: (response) => sendPackFile(request, response, sent, packFiles) };
    },
    verifyPack: async ({ params, visitor }) => ok(await verifyWithParts(store, params.id ?? '', visitor)),
    flagPack: async ({ params: { id = '' }, body, admitted }) => {
      await flagPack(admitted.store, id, body);
      return createdText(readPackText(store.read, id), addressOf(id));
    },
  } satisfies Partial<Handlers>;
}

/** The digest of the whole file decides with what the piece is withheld, so only the owner may state it. */
function onlyOwnersPieces(): Problem {
  return new Problem('owner_required', 'Only the owner can say of which file a pack holds a piece.');
}

/** Handlers for the comparison of packs. */
export function packComparisonHandlers(store: Store, fileDiffs: FileDiffs) {
  return {
    comparePacks: ({ params: { id = '' }, query }) => ok(comparePacks(store, id, query.with)),
    comparePackFiles: async ({ params: { id = '' }, query, request, visitor }) => {
      const { from, to } = filesToCompare(store, id, query.with, query.path);
      const digests = [from.sha256, to.sha256];
      const sideOf = ({ sha256, bytes, media_type }: typeof from) => ({
        sha256,
        bytes,
        content_type: media_type,
      });
      const diff = await madeOfReadable(
        () => requireAllReadable(store.read, digests, visitor),
        () => fileDiffs.compare(sideOf(from), sideOf(to)),
      );
      return sendJsonWithEtag(request, diff, withheldHeaders(store.read, digests, visitor));
    },
  } satisfies Partial<Handlers>;
}

/** A browser saves a blob as a file and never runs it. */
const AS_BYTES: SentBlobOptions = {
  contentType: 'application/octet-stream',
  disposition: 'attachment',
  headers: { 'Content-Security-Policy': "sandbox; default-src 'none'" },
};

export function blobsHandlers(store: Store) {
  return {
    lookUpDigests: ({ query }) => ok({ items: lookUpDigests(store, query.sha256) }),
    readBlob: ({ params: { sha256 = '' }, request, visitor }) =>
      storedBlobReply(store, request, storedBlob(store, sha256), visitor),
  } satisfies Partial<Handlers>;
}

/** Returns how a blob is sent. @throws Problem like `readBlob` */
function storedBlob(store: Store, sha256: string): BlobResponse {
  const blob = readBlob(store, sha256);
  const packs = packsOfBlob(store, sha256);
  // The URLs are relative, so that the response is the same at every address of the node.
  const link = packs.map((id) => `</packs/${id}>; rel="collection"; type="text/html"`).join(', ');
  const headers = { ...AS_BYTES.headers, ...(link ? { Link: link } : {}) };
  return { blob, options: { ...AS_BYTES, headers } };
}

/** Increased by each release that writes a different ZIP for the same set. */
const ZIP_VERSION = 1;

/** Handlers for sets. */
export function setHandlers(store: Store) {
  const zips = new SetZips(store);
  return {
    readSet: async ({ params: { id = '' }, visitor }) => {
      const set = await requireSet(store, id, visitor);
      const { packs, bytes } = set.index;
      // The names of a large set are sent for as long as its list may be read.
      const stillReadable = whileReadable(store.read, () => requireReadable(store.read, set.file, visitor));
      const jsonText = withList({ packs: packs.length, bytes }, 'files', fileTexts(set));
      return { status: 200, jsonText, stillReadable };
    },
    listSetEntries: async ({ params: { id = '' }, query, request, visitor }) => {
      const set = await requireSet(store, id, visitor);
      const entries = await madeOfReadable(
        () => requireReadable(store.read, set.file, visitor),
        () => listEntries(store.read, set, query),
      );
      return page(request, query, entries);
    },
    readSetFile: async ({ params: { id = '', path = '' }, request, visitor }) => {
      const set = await requireSet(store, id, visitor);
      const file = requireFile(set, path);
      const digests = digestsOfFile(set, file);
      requireAllReadable(store.read, digests, visitor);
      const stillReadable = whileReadable(store.read, () => requireAllReadable(store.read, digests, visitor));
      const sha256 = set.index.sha256Of(file);
      const parts = set.index.partsOf(file);
      const headers = {
        'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
        'Cache-Control': 'no-cache',
        'Content-Security-Policy': "sandbox; default-src 'none'",
        'X-Content-Type-Options': 'nosniff',
        'Content-Disposition': `attachment; filename*=UTF-8''${encodedName(path)}`,
        ...withheldHeaders(store.read, digests, visitor),
      };
      const sent = {
        etag: `"${sha256}"`,
        type: 'application/octet-stream',
        bytes: set.index.bytesOf(file),
        headers,
        prepare: (ranges: readonly { start: number; end: number }[]) =>
          requireIntactParts(store, parts, ranges),
        read: (range: { start: number; end: number }) => readParts(store, parts, range),
        stillReadable,
      };
      return { write: (response) => sendRanges(request, response, sent) };
    },
    downloadSet: async ({ params: { id = '' }, request, visitor }) => {
      const set = await requireSet(store, id, visitor);
      const requireReadable = () => requireSetReadable(store, set, visitor);
      const stillReadable = whileReadable(store.read, async () => void (await requireReadable()));
      const withheld = await requireReadable();
      const zip = await zips.of(set);
      const sent = {
        etag: `"set-${ZIP_VERSION}-${set.pack.digest}"`,
        type: 'application/zip',
        bytes: zip.bytes,
        headers: {
          'Cache-Control': 'no-cache',
          'Content-Disposition': `attachment; filename="${id}.zip"`,
          ...withheldHeaders(store.read, withheld === undefined ? [] : [withheld], visitor),
        },
        prepare: (ranges: readonly { start: number; end: number }[]) => zip.prepare(ranges),
        read: (range: { start: number; end: number }) => zip.read(range),
        stillReadable,
      };
      return { write: (response) => sendRanges(request, response, sent) };
    },
  } satisfies Partial<Handlers>;
}

/** Encodes the name of a file for `filename*` (RFC 8187). */
function encodedName(path: string): string {
  const name = encodeURIComponent(path.split('/').at(-1) ?? '');
  return name.replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function* fileTexts({ index }: OpenedSet): Generator<string> {
  for (let file = 0; file < index.count; file += 1)
    yield JSON.stringify({
      path: index.pathOf(file),
      bytes: index.bytesOf(file),
      sha256: index.sha256Of(file),
    });
}

/** Handlers for drafts of packs. */
export function draftHandlers(drafts: Drafts) {
  return {
    listDrafts: ({ query, request }) => page(request, query, drafts.list(query)),
    createDraft: async ({ body }) => {
      const { draft, isNew } = await drafts.create(body);
      if (!isNew) return ok(draft);
      return created(draft, pathOf(ROUTES.readDraft.path, { id: draft.id }));
    },
    readDraft: async ({ params: { id = '' } }) => ok(await drafts.read(id)),
    changeDraft: async ({ params: { id = '' }, body }) => ok(await drafts.change(id, body)),
    deleteDraft: ({ params: { id = '' } }) => noContentAfter(drafts.remove(id)),
    putDraftFile: async ({ params: { id = '' }, query, request }) => {
      requireMediaType(request, ROUTES.putDraftFile.body.mediaTypes);
      const chunks = checkedBodyChunks(request, drafts.maxFileBytes, packTooLarge);
      return ok(await drafts.putFile(id, query, chunks));
    },
    changeDraftFiles: async ({ params: { id = '' }, body }) => ok(await drafts.changeFiles(id, body)),
    publishDraft: async ({ params: { id = '' }, query: { revision }, admitted }) => {
      const { id: pack, created: isNew, text } = await drafts.publish(id, revision, admitted);
      return isNew ? createdText(text, pathOf(ROUTES.readPack.path, { id: pack })) : okText(text);
    },
  } satisfies Partial<Handlers>;
}

/** Handlers for records of repositories, and of reference managers, as drafts. */
export function importHandlers(imports: Imports, drafts: Drafts) {
  return {
    importRecord: async ({ query: { wait, dry_run }, body, request }) => {
      if (dry_run) {
        const left = new AbortController();
        request.res?.once('close', () => left.abort());
        return ok(await imports.plan(body, left.signal));
      }
      const { job, finished } = imports.start(body);
      if (!wait) return accepted(job);
      const result = await finished;
      return created(result, pathOf(ROUTES.readDraft.path, { id: result.draft }));
    },
    listCitationEntries: async ({ request }) => ok(await listCitationEntries(await citationsIn(request))),
    fillDraftRecord: async ({ params: { id = '' }, query: { entry }, request }) =>
      ok(await fillDraftRecord(drafts, id, await citationsIn(request), entry)),
  } satisfies Partial<Handlers>;
}

async function citationsIn(request: Request): Promise<{ format: CitationFormat; bytes: Uint8Array }> {
  const mediaType = requireMediaType(request, Object.keys(CITATION_MEDIA_TYPES));
  const bytes = await readBytes(bodyChunks(request), MAX_CITATION_FILE_BYTES);
  return { format: CITATION_MEDIA_TYPES[mediaType] ?? 'csl', bytes };
}

/** Handlers for repositories and the deposits in them. */
export function depositHandlers(store: Store, deposits: Deposits) {
  const at = (pack: string) => `/manage/deposits?pack=${pack}`;
  return {
    listRepositories: async ({ query, request }) =>
      page(request, query, await deposits.listRepositories(query)),
    addRepository: async ({ body }) => {
      const repository = await deposits.addRepository(body);
      return created(repository, `/manage/repositories/${repository.id}`);
    },
    removeRepository: ({ params }) => noContentAfter(deposits.removeRepository(params.id ?? '')),
    listPackDeposits: ({ query, request }) => page(request, query, listPackDeposits(store.read, query)),
    listDeposits: ({ query, request }) => page(request, query, deposits.list(query, query.pack)),
    deposit: async ({ query: { wait }, body }) => {
      const begun = await deposits.deposit(body);
      if ('id' in begun) return created(begun, at(begun.pack));
      if (!wait) return accepted(begun.job);
      const deposit = await deposits.ended(begun, body);
      return created(deposit, at(deposit.pack));
    },
  } satisfies Partial<Handlers>;
}
