import { GIGABYTE } from '../../../../shared/limits.ts';
import { pathOf } from '../../../../shared/routes/route.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import { lookUpDigests, packsOfBlob, readBlob } from '../../../archive/blobs.ts';
import { addPack } from '../../../archive/packs/addPack.ts';
import { comparePacks, filesToCompare } from '../../../archive/packs/comparePacks.ts';
import { PackFiles } from '../../../archive/packs/file/writePackFile.ts';
import { flagPack } from '../../../archive/packs/packRows.ts';
import {
  digestsOfPack,
  listPacks,
  readMarkedPackText,
  readPackText,
  requirePack,
} from '../../../archive/packs/readPack.ts';
import { verifyWithParts } from '../../../archive/sets/verifySet.ts';
import { readSignposts } from '../../../citations/signposts.ts';
import type { FileDiffs } from '../../../collection/diff/diffs.ts';
import type { SettingsStore } from '../../../store/settings.ts';
import type { Store } from '../../../store/store.ts';
import { requireAllReadable } from '../../../withholding/withholding.ts';
import type { Handlers } from '../../app.ts';
import { readPackUpload } from '../../body/packUpload.ts';
import {
  type BlobResponse,
  type SentBlobOptions,
  storedBlobReply,
  withheldHeaders,
} from '../../delivery/blobs.ts';
import { linkHeader } from '../../delivery/itemPages.ts';
import { sendPackFile } from '../../delivery/sendPackFile.ts';
import { sendJsonWithEtag } from '../../delivery/text.ts';
import { createdText, ok, okText, pageOfTexts } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type PackRoutes = 'listPacks' | 'addPack' | 'readPack' | 'readPackFile' | 'verifyPack' | 'flagPack';

export function packsHandlers(
  store: Store,
  settings: SettingsStore,
  publicAddress: PublicAddress,
): Pick<Handlers, PackRoutes> {
  const addressOf = (id: string) => pathOf(ROUTES.readPack.path, { id });
  const packFiles = new PackFiles(store);
  return {
    listPacks: ({ query, request }) => pageOfTexts(request, query, listPacks(store, query)),
    addPack: async ({ request, visitor, admitted }) => {
      const upload = await readPackUpload(request, store);
      const { id, created, text } = await addPack(admitted.store, {
        ...upload,
        setLimits: { maxBytes: settings.current.max_set_gb * GIGABYTE, mayTakePacks: visitor.owner },
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
      return { write: (response) => sendPackFile(request, response, { pack, headers }, packFiles) };
    },
    verifyPack: async ({ params }) => ok(await verifyWithParts(store, params.id ?? '')),
    flagPack: async ({ params: { id = '' }, body, admitted }) => {
      await flagPack(admitted.store, id, body);
      return createdText(readPackText(store.read, id), addressOf(id));
    },
  };
}

/** Handlers for the comparison of packs. */
export function packComparisonHandlers(
  store: Store,
  fileDiffs: FileDiffs,
): Pick<Handlers, 'comparePacks' | 'comparePackFiles'> {
  return {
    comparePacks: ({ params: { id = '' }, query }) => ok(comparePacks(store, id, query.with)),
    comparePackFiles: async ({ params: { id = '' }, query, request, visitor }) => {
      const { from, to } = filesToCompare(store, id, query.with, query.path);
      const digests = [from.sha256, to.sha256];
      requireAllReadable(store.read, digests, visitor);
      const sideOf = ({ sha256, bytes, media_type }: typeof from) => ({
        sha256,
        bytes,
        content_type: media_type,
      });
      const diff = await fileDiffs.compare(sideOf(from), sideOf(to));
      return sendJsonWithEtag(request, diff, withheldHeaders(store.read, digests, visitor));
    },
  };
}

/** A browser saves a blob as a file and never runs it. */
const AS_BYTES: SentBlobOptions = {
  contentType: 'application/octet-stream',
  disposition: 'attachment',
  headers: { 'Content-Security-Policy': "sandbox; default-src 'none'" },
};

export function blobsHandlers(store: Store): Pick<Handlers, 'readBlob' | 'lookUpDigests'> {
  return {
    lookUpDigests: ({ query }) => ok({ items: lookUpDigests(store, query.sha256) }),
    readBlob: ({ params: { sha256 = '' }, request, visitor }) =>
      storedBlobReply(store, request, storedBlob(store, sha256), visitor),
  };
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
