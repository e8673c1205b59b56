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
import type { Store } from '../../../store/store.ts';
import { requireAllReadable, requireReadable } from '../../../withholding/withholding.ts';
import type { Handlers } from '../../app.ts';
import { withheldHeaders } from '../../delivery/blobs.ts';
import { sendRanges } from '../../delivery/sendRanges.ts';
import { okText, page, withList } from '../../reply.ts';

/** Increased by each release that writes a different ZIP for the same set. */
const ZIP_VERSION = 1;

type SetRoutes = 'readSet' | 'listSetEntries' | 'readSetFile' | 'downloadSet';

/** Handlers for sets. */
export function setHandlers(store: Store): Pick<Handlers, SetRoutes> {
  const zips = new SetZips(store);
  return {
    readSet: async ({ params: { id = '' }, visitor }) => {
      const set = await requireSet(store, id);
      requireReadable(store.read, set.file, visitor);
      const { packs, bytes } = set.index;
      return okText(withList({ packs: packs.length, bytes }, 'files', fileTexts(set)));
    },
    listSetEntries: async ({ params: { id = '' }, query, request, visitor }) => {
      const set = await requireSet(store, id);
      requireReadable(store.read, set.file, visitor);
      return page(request, query, await listEntries(store.read, set, query));
    },
    readSetFile: async ({ params: { id = '', path = '' }, request, visitor }) => {
      const set = await requireSet(store, id);
      const file = requireFile(set, path);
      const digests = digestsOfFile(set, file);
      requireAllReadable(store.read, digests, visitor);
      const sha256 = set.index.sha256Of(file);
      const parts = set.index.partsOf(file);
      const headers = {
        'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
        'Cache-Control': 'public, max-age=31536000, immutable',
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
      };
      return { write: (response) => sendRanges(request, response, sent) };
    },
    downloadSet: async ({ params: { id = '' }, request, visitor }) => {
      const set = await requireSet(store, id);
      const withheld = await requireSetReadable(store, set, visitor);
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
      };
      return { write: (response) => sendRanges(request, response, sent) };
    },
  };
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
