import type { HttpResponse } from './exchange.ts';
import { RetrievalFailure } from './failure.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

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
