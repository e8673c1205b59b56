import { brotliDecompressSync, constants, inflateSync, zstdDecompressSync } from 'node:zlib';
import { charsetInHtml } from '../../../../shared/values/htmlCharset.ts';
import { gunzipSync } from '../../fetch/gunzip.ts';

/** The parts of a response that determine its label. */
export interface PageResponse {
  url: string;
  final_url: string;
  status: number | null;
  headers: readonly [string, string][];
  content_type: string | null;
  /** The first bytes of the body, still encoded. */
  beginning: Buffer;
}

/** Whether `html` is the whole page, and HTML. What is cut off could hold the text. */
export function isWholeHtml(
  { content_type, beginning }: PageResponse,
  headers: ReadonlyMap<string, string>,
  html: string,
): boolean {
  if (!/html|^$/.test(content_type?.toLowerCase() ?? '') || !/<(html|head|body|!doctype)\b/i.test(html))
    return false;
  const isEncoded = (headers.get('content-encoding') ?? 'identity').trim().toLowerCase() !== 'identity';
  return beginning.length < (isEncoded ? MAX_ENCODED_BYTES : MAX_HTML_BYTES) && html.length < MAX_HTML_BYTES;
}

const MAX_TITLE = 300;

/** Returns the title of a page with collapsed white space, or null if there is none. */
export async function findTitle(html: string): Promise<string | null> {
  const tag = /<title[\s>]/i.exec(html);
  const start = tag ? html.indexOf('>', tag.index) + 1 : 0;
  if (start === 0) return null;
  const end = html.indexOf('<', start);
  const inner = html.slice(start, end === -1 ? undefined : end).slice(0, 10 * MAX_TITLE);
  const decoded = /[&\0]/.test(inner) ? await decodeTitle(inner) : inner;
  const title = decoded.replace(/\s+/g, ' ').trim();
  return title === '' ? null : title.slice(0, MAX_TITLE);
}

/** Decodes the character references of a title. */
async function decodeTitle(inner: string): Promise<string> {
  // Imported on first use, to keep the start of the node fast.
  const { load } = await import('cheerio/slim');
  return load(`<title>${inner}</title>`)('title').text();
}

/** Returns the first value of each header, by its name in lower case. */
export function headersOf({ headers }: Pick<PageResponse, 'headers'>): Map<string, string> {
  return new Map(headers.map(([name, value]) => [name.toLowerCase(), value] as const).reverse());
}

/** Returns the beginning of the body as HTML, or an empty string if the content type is not HTML or XML. */
export function htmlOf(
  page: Pick<PageResponse, 'content_type' | 'beginning'>,
  headers: ReadonlyMap<string, string>,
): string {
  const type = page.content_type?.toLowerCase() ?? '';
  if (!/html|xml|^$/.test(type)) return '';
  const bytes = decodeBody(page.beginning, headers.get('content-encoding')).subarray(0, MAX_HTML_BYTES);
  const charset = /charset="?([\w-]+)/.exec(type)?.[1] ?? charsetInHtml(bytes) ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch (error) {
    // The charset is unknown.
    if (error instanceof RangeError) return bytes.toString('latin1');
    throw error;
  }
}

/** The beginning of a body that the rules look at. */
export const PAGE_BEGINNING_BYTES = 65_536;
const MAX_HTML_BYTES = PAGE_BEGINNING_BYTES;
/** Lower for encoded bodies, because they may expand a thousandfold. */
const MAX_ENCODED_BYTES = 8_192;

/** Decodes the beginning of a body. The stored bytes stay encoded. */
function decodeBody(beginning: Buffer, encoding: string | undefined): Buffer {
  const bytes = beginning.subarray(0, MAX_ENCODED_BYTES);
  try {
    switch (encoding?.trim().toLowerCase()) {
      case 'gzip':
      case 'x-gzip':
        return gunzipSync(bytes, { maxOutputLength: MAX_DECODED_BYTES, mayBeCut: true });
      case 'deflate':
        return inflateSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
      case 'br':
        return brotliDecompressSync(bytes, {
          finishFlush: constants.BROTLI_OPERATION_FLUSH,
          maxOutputLength: MAX_DECODED_BYTES,
        });
      case 'zstd':
        return zstdDecompressSync(bytes, {
          finishFlush: constants.ZSTD_e_flush,
          maxOutputLength: MAX_DECODED_BYTES,
        });
      default:
        return beginning;
    }
  } catch (error) {
    // The body does not have the declared encoding.
    if (error instanceof Error && 'code' in error) return Buffer.alloc(0);
    throw error;
  }
}

/** Needed for Brotli and Zstandard, whose expansion ratio is unlimited. */
const MAX_DECODED_BYTES = 8_388_608;

/** Sentences only count on pages with at most this much text. */
const MAX_SHORT_TEXT = 1_500;

/**
 * Returns the text between the tags, without scripts and styles, or undefined if it is longer than `MAX_SHORT_TEXT`. Runs
 * in linear time on any input.
 */
export function shortTextIn(html: string): string | undefined {
  const parts: string[] = [];
  let length = 0;
  const add = (part: string) => {
    const isLong = part.length > MAX_SHORT_TEXT && hasMoreThan(part, MAX_SHORT_TEXT);
    const text = isLong ? '' : collapseSpace(part);
    length += isLong ? Number.POSITIVE_INFINITY : text.length + Number(text !== '');
    if (text !== '') parts.push(text);
  };
  for (let at = 0; at < html.length; ) {
    const tag = html.indexOf('<', at);
    if (tag === -1) {
      add(html.slice(at));
      break;
    }
    add(html.slice(at, tag));
    if (length > MAX_SHORT_TEXT + 1) return undefined;
    const name = /^<(script|style)[\s>]/i.exec(html.slice(tag, tag + 8))?.[1];
    const end = name === undefined ? html.indexOf('>', tag) : endOfElement(html, tag, name);
    if (end === -1) break;
    at = end + 1;
  }
  return length > MAX_SHORT_TEXT + 1 ? undefined : parts.join(' ');
}

/** Returns whether a text has more than `max` characters that are not white space. Usually reads only its beginning. */
function hasMoreThan(text: string, max: number): boolean {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const isSpace = code <= 0x20 || code === 0xa0 || (code >= 0x1680 && code <= 0x3000) || code === 0xfeff;
    if (!isSpace) count += 1;
    if (count > max) return true;
  }
  return false;
}

function collapseSpace(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function endOfElement(html: string, from: number, name: string): number {
  const closing = new RegExp(`</${name}\\s*>`, 'gi');
  closing.lastIndex = from;
  return closing.exec(html) ? closing.lastIndex - 1 : -1;
}
