import { brotliDecompressSync, constants, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import type { PageLabel } from '../../../shared/collection/event.ts';
import { STATUS_CODES } from '../../runtime/nodeHttp.ts';
import { scriptShellReason } from './scriptShell.ts';

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

/**
 * Detects responses that are probably not the requested page: a bot wall, an error page with status 200, or a shell whose
 * text is made by scripts. A label is
 * only a remark; it does not change how the response is recorded. The rules are narrow on purpose, because a wrong label
 * is worse than none.
 */
export async function detectPageLabel(page: PageResponse): Promise<PageLabel | null> {
  const html = htmlOf(page);
  const title = await findTitle(html);
  const wall = wallHeader(page) ?? botWallReason(html, title);
  if (wall) return { label: 'bot_wall', reason: wall };
  const ok = page.status !== null && page.status >= 200 && page.status < 300;
  const reason = ok ? (frontPageReason(page) ?? statusTitleReason(title)) : undefined;
  if (reason) return { label: 'error_page', reason };
  const shell = ok && isWholeHtml(page, html) ? scriptShellReason(html) : undefined;
  return shell ? { label: 'script_shell', reason: shell } : null;
}

/** Whether `html` is the whole page, and HTML. What is cut off could hold the text. */
function isWholeHtml({ content_type, beginning, ...page }: PageResponse, html: string): boolean {
  if (!/html|^$/.test(content_type?.toLowerCase() ?? '') || !/<(html|head|body|!doctype)\b/i.test(html))
    return false;
  const isEncoded = (header(page, 'content-encoding') ?? 'identity').trim().toLowerCase() !== 'identity';
  return beginning.length < (isEncoded ? MAX_ENCODED_BYTES : MAX_HTML_BYTES) && html.length < MAX_HTML_BYTES;
}

/** Returns the title of an HTML page with collapsed white space, or null if there is none. */
export function pageTitle(
  page: Pick<PageResponse, 'headers' | 'content_type' | 'beginning'>,
): Promise<string | null> {
  return findTitle(htmlOf(page));
}

const MAX_TITLE = 300;

async function findTitle(html: string): Promise<string | null> {
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

function header(page: Pick<PageResponse, 'headers'>, name: string): string | undefined {
  return page.headers.find(([key]) => key.toLowerCase() === name)?.[1];
}

/** Returns the beginning of the body as HTML, or an empty string if the content type is not HTML or XML. */
function htmlOf(page: Pick<PageResponse, 'headers' | 'content_type' | 'beginning'>): string {
  const type = page.content_type?.toLowerCase() ?? '';
  if (!/html|xml|^$/.test(type)) return '';
  const bytes = decodeBody(page.beginning, header(page, 'content-encoding')).subarray(0, MAX_HTML_BYTES);
  const charset = /charset="?([\w-]+)/.exec(type)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch (error) {
    // The charset is unknown.
    if (error instanceof RangeError) return bytes.toString('latin1');
    throw error;
  }
}

const MAX_HTML_BYTES = 65_536;
/** Lower for encoded bodies, because they may expand a thousandfold. */
const MAX_ENCODED_BYTES = 8_192;

/** Decodes the beginning of a body. The stored bytes stay encoded. */
function decodeBody(beginning: Buffer, encoding: string | undefined): Buffer {
  const bytes = beginning.subarray(0, MAX_ENCODED_BYTES);
  try {
    switch (encoding?.trim().toLowerCase()) {
      case 'gzip':
      case 'x-gzip':
        return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
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

function frontPageReason({ url, final_url }: PageResponse): string | undefined {
  if (url === final_url) return undefined;
  const requested = new URL(url);
  const final = new URL(final_url);
  const sameSite = withoutWww(requested.hostname) === withoutWww(final.hostname);
  const isFront = (address: URL) => address.pathname === '/' && address.search === '';
  if (requested.href === final.href || !sameSite || isFront(requested) || !isFront(final)) return undefined;
  return `Redirected to the front page of ${final.host}`;
}

function withoutWww(hostname: string): string {
  return hostname.replace(/^www\./, '');
}

/** Error phrases that are unlikely as a page's real title. "Gone" or "Conflict" alone could be real titles. */
const ERROR_TITLES: ReadonlySet<string> = new Set([
  ...Object.entries(STATUS_CODES)
    .filter(([code, phrase]) => Number(code) >= 400 && (phrase ?? '').includes(' '))
    .map(([, phrase]) => (phrase ?? '').toLowerCase()),
  'page not found',
  'file not found',
  'page cannot be found',
  'page does not exist',
  'the page you requested was not found',
  'error 404',
  'http 404',
  'forbidden',
  'unauthorized',
  'server error',
  'page no longer available',
  'oops! page not found',
  'sorry, page not found',
]);

function statusTitleReason(title: string | null): string | undefined {
  if (title === null) return undefined;
  const parts = [title, ...title.split(/\s+[|–—·»:-]\s+|\s*[|–—·»:]\s*/)].map((part) =>
    part.trim().toLowerCase(),
  );
  const numbered = /^(?:http |error |http error )?([45]\d\d)(?:[\s:.–—-]+(.+))?$/;
  const isError = (part: string) => {
    const [, code, phrase] = numbered.exec(part.replace(/[.!]+$/, '')) ?? [];
    const standard = code && STATUS_CODES[code]?.toLowerCase();
    if (
      standard &&
      (phrase === undefined || phrase === standard || ERROR_TITLES.has(phrase) || phrase === 'error')
    )
      return true;
    return ERROR_TITLES.has(part.replace(/[.!]+$/, ''));
  };
  return parts.some(isError) ? `The title is a status phrase: ${title}` : undefined;
}

const WALL_TITLES: readonly RegExp[] = [
  /^just a moment\b/i,
  /^attention required! \| cloudflare/i,
  /^access denied$/i,
  /^access to this page has been denied/i,
  /^pardon our interruption/i,
  /^(are you|please (prove|verify|confirm) (that )?you are) (not )?a? ?(robot|human)/i,
  /^(verify(ing)? (that )?you are (a )?human|human verification|robot check|bot (verification|check|detection))/i,
  /^(security (check|checkpoint|verification)|vercel security checkpoint)/i,
  /^(checking your browser|ddos[- ](guard|protection))/i,
  /^making sure you're not a bot/i,
  /^client challenge$/i,
  /\bcaptcha\b/i,
];
/** Markup that only the wall itself contains, not the pages that the same service protects. */
const WALL_MARKERS: readonly [RegExp, string][] = [
  [/_cf_chl_opt|cf-challenge-running|id="challenge-(form|error-text|running)"/, 'a Cloudflare challenge'],
  [/Incapsula incident ID/i, 'an Incapsula block'],
  [/captcha-delivery\.com\/(captcha|interstitial|c\.js)/, 'a DataDome challenge'],
  [/id="px-captcha"/, 'a HUMAN (PerimeterX) challenge'],
  [/window\.gokuProps|AwsWafIntegration\.(forceRefreshToken|checkForceRefresh)/, 'an AWS WAF challenge'],
  [/id="anubis_challenge"/, 'an Anubis challenge'],
  [/Sucuri WebSite Firewall - Access Denied/i, 'a Sucuri block'],
];
const WALL_SENTENCES =
  /checking (if the site connection is secure|your browser before accessing)|verify (that )?you are (a )?human|enable javascript and cookies to continue|unusual traffic from your computer network|complete the (security check|captcha)|i('| a)m not a robot/i;
/** Wall sentences only count on pages with at most this much text. */
const MAX_WALL_TEXT = 1_500;

function botWallReason(html: string, title: string | null): string | undefined {
  if (title && WALL_TITLES.some((known) => known.test(title))) return `The title is a bot wall’s: ${title}`;
  const marker = WALL_MARKERS.find(([known]) => known.test(html));
  if (marker) return `The page is ${marker[1]}`;
  const sentence = WALL_SENTENCES.exec(shortTextIn(html) ?? '')?.[0];
  return sentence && `The page contains little more than “${sentence}”`;
}

/**
 * Returns the text between the tags, without scripts and styles, or undefined if it is longer than `MAX_WALL_TEXT`. Runs
 * in linear time on any input.
 */
function shortTextIn(html: string): string | undefined {
  const parts: string[] = [];
  let length = 0;
  const add = (part: string) => {
    const isLong = part.length > MAX_WALL_TEXT && hasMoreThan(part, MAX_WALL_TEXT);
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
    if (length > MAX_WALL_TEXT + 1) return undefined;
    const name = /^<(script|style)[\s>]/i.exec(html.slice(tag, tag + 8))?.[1];
    const end = name === undefined ? html.indexOf('>', tag) : endOfElement(html, tag, name);
    if (end === -1) break;
    at = end + 1;
  }
  return length > MAX_WALL_TEXT + 1 ? undefined : parts.join(' ');
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

function wallHeader(page: PageResponse): string | undefined {
  if (header(page, 'cf-mitigated') === 'challenge') return 'The header cf-mitigated is challenge';
  const waf = header(page, 'x-amzn-waf-action');
  if (waf === 'challenge' || waf === 'captcha') return `The header x-amzn-waf-action is ${waf}`;
  if (header(page, 'x-datadome') !== undefined && page.status === 403) return 'DataDome answered 403';
  if (header(page, 'x-sucuri-block') !== undefined) return 'The header x-sucuri-block is set';
  if (header(page, 'x-vercel-mitigated') !== undefined) return 'The header x-vercel-mitigated is set';
  return undefined;
}
