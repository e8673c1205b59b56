import { gunzipSync } from 'node:zlib';
import { decodeText } from '../../derived/body/decodeBody.ts';
import { readBody } from '../../derived/body/readBody.ts';
import { MAX_BYTES_READ } from '../../derived/limits.ts';
import { NotDerivableError } from '../../derived/notDerivable.ts';
import type { LinksResult, LinksTask } from '../../derived/process/tasks.ts';
import { readFeedLinks } from './feedLinks.ts';
import { readHtmlLinks } from './htmlLinks.ts';
import { LinkCollector, TooManyLinksError } from './linkCollector.ts';
import { readSitemapLinks } from './sitemapLinks.ts';

/** Reads the addresses that an object links to or lists. Runs in the derive process. @throws NotDerivableError. */
export function makeLinks(task: LinksTask): LinksResult {
  const { object, follow, url } = task;
  const { bytes: body, kind, isCut } = readBody(object, MAX_BYTES_READ);
  const bytes = follow.kind === 'links' ? body : gunzipped(body, isCut);
  const text = decodeText(bytes, object.contentType).replace(/^\ufeff/, '');
  const links = new LinkCollector(task);
  try {
    if (follow.kind === 'feed') readFeedLinks(text, url, links);
    else if (follow.kind === 'sitemap') readSitemapLinks(text, url, links);
    else if (kind === 'html' || kind === 'xml') readHtmlLinks(text, url, links);
    else throw new NotDerivableError('unsupported', 'The newest version is not a page with links.');
    if (isCut) links.stop();
  } catch (error) {
    if (!(error instanceof TooManyLinksError)) throw error;
  }
  return links.result();
}

/** Sitemaps are often served as gzip files, and feeds sometimes, without a content encoding. */
function gunzipped(bytes: Uint8Array, isCut: boolean): Uint8Array {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  if (isCut) throw new NotDerivableError('too_large', 'The compressed file is too large to be read.');
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_BYTES_READ });
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    if (error.code === 'ERR_BUFFER_TOO_LARGE')
      throw new NotDerivableError(
        'too_large',
        `The file is larger than ${MAX_BYTES_READ} bytes uncompressed.`,
      );
    throw new NotDerivableError('damaged', 'The file cannot be read as gzip.', error);
  }
}
