import type { ViewKind } from '../../../shared/collection/view.ts';
import { startOfBlob } from '../../store/blobs/away/startOfBlob.ts';
import type { Store } from '../../store/store.ts';
import { mediaKind } from '../derived/body/mediaKind.ts';

/** How much of an object is inspected. */
const INSPECTED_BYTES = 1_024;
const FEED_TYPES = /^application\/(rss|atom|rdf)\+xml/i;
const FEED_ROOT = /<(rss|feed|rdf:RDF)[\s>]/;

interface ObjectToShow {
  sha256: string;
  url: string;
  contentType: string | null;
  /** Whether the stored bytes are encoded, so that their beginning says nothing. */
  isEncoded: boolean;
}

/** Returns how an object is shown, by its content type, its first bytes and its address. */
export async function viewKind(
  { blobs }: Pick<Store, 'blobs'>,
  { sha256, url, contentType, isEncoded }: ObjectToShow,
): Promise<ViewKind> {
  const head = isEncoded
    ? new Uint8Array()
    : ((await startOfBlob(blobs, sha256, INSPECTED_BYTES)) ?? new Uint8Array());
  const type = contentType ?? '';
  const path = URL.parse(url)?.pathname ?? '';
  if (/^image\/svg\+xml/i.test(type)) return 'image';
  if (FEED_TYPES.test(type)) return 'feed';
  const kind = mediaKind(contentType, head);
  if (kind === 'xml') return FEED_ROOT.test(Buffer.from(head).toString('latin1')) ? 'feed' : 'xml';
  if (kind === 'text')
    return /^text\/(x-)?markdown/i.test(type) || /\.(md|markdown)$/i.test(path) ? 'markdown' : 'text';
  return kind;
}
