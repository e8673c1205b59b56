import { type FileHandle, open } from 'node:fs/promises';
import type { ViewKind } from '../../../shared/collection/view.ts';
import { isMissing, isUnreadable } from '../../store/blobs/blobStore.ts';
import { mediaKind } from '../derived/body/mediaKind.ts';

/** How much of an object is inspected. */
const INSPECTED_BYTES = 1_024;
const FEED_TYPES = /^application\/(rss|atom|rdf)\+xml/i;
const FEED_ROOT = /<(rss|feed|rdf:RDF)[\s>]/;

interface ObjectToShow {
  file: string;
  url: string;
  contentType: string | null;
  /** Whether the stored bytes are encoded, so that their beginning says nothing. */
  isEncoded: boolean;
}

/** Returns how an object is shown, by its content type, its first bytes and its address. */
export async function viewKind({ file, url, contentType, isEncoded }: ObjectToShow): Promise<ViewKind> {
  const head = isEncoded ? new Uint8Array() : await startOf(file);
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

/** Returns the first bytes of a file, or none if it cannot be read. Showing it then reports the error. */
async function startOf(file: string): Promise<Uint8Array> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(INSPECTED_BYTES), 0, INSPECTED_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return new Uint8Array();
    throw error;
  } finally {
    await handle?.close();
  }
}
