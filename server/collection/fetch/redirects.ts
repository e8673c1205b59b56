import type { HttpResponse } from './exchange.ts';
import { RetrievalFailure } from './failure.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Headers that are not kept of a redirect, because they may be secrets of a session. */
const WITHHELD_HEADERS =
  /^(set-cookie2?|cookie|authorization|proxy-authorization|(proxy-)?authentication-info)$/i;
/** Longer headers are not kept, except `Location`: each check may follow ten redirects. */
const MAX_HEADER_CHARACTERS = 16_384;

/** Returns the headers of a redirect that are kept. */
export function redirectHeaders(headers: readonly [string, string][]): [string, string][] {
  const kept = headers
    .filter(([name]) => !WITHHELD_HEADERS.test(name))
    .map(([name, value]): [string, string] => [name, value.replace(USER_INFORMATION, '$1')]);
  const length = kept.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (length <= MAX_HEADER_CHARACTERS) return kept;
  return kept.filter(([name]) => name.toLowerCase() === 'location').slice(0, 1);
}

/** A user name and password in a URL. */
const USER_INFORMATION = /(\/\/)[^/?#@\s]{1,1000}@/g;

export function isRedirect({ status }: Pick<HttpResponse, 'status'>): boolean {
  return REDIRECTS.has(status);
}

/**
 * Returns the target of a redirect without fragment, user name and password, which are never sent.
 *
 * @throws RetrievalFailure `invalid_response` if Location is missing or invalid, `redirect_refused` if it is not http(s).
 */
export function redirectTarget(from: URL, response: Pick<HttpResponse, 'header'>): URL {
  const location = response.header('location');
  const to = location === undefined ? null : URL.parse(location, from.href);
  if (to === null) throw new RetrievalFailure('invalid_response');
  if (to.protocol !== 'http:' && to.protocol !== 'https:') throw new RetrievalFailure('redirect_refused');
  to.hash = '';
  to.username = '';
  to.password = '';
  return to;
}
