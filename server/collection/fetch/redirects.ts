import type { Answer } from './exchange.ts';
import { RetrievalFailure } from './failure.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function isRedirect({ status }: Pick<Answer, 'status'>): boolean {
  return REDIRECTS.has(status);
}

/**
 * Where a redirect leads, without its fragment and without a name and a password, which are never sent.
 *
 * @throws RetrievalFailure `invalid_response` where it leads nowhere, `redirect_refused` where not to the web.
 */
export function redirectTarget(from: URL, answer: Pick<Answer, 'header'>): URL {
  const location = answer.header('location');
  const to = location === undefined ? null : URL.parse(location, from.href);
  if (to === null) throw new RetrievalFailure('invalid_response');
  if (to.protocol !== 'http:' && to.protocol !== 'https:') throw new RetrievalFailure('redirect_refused');
  to.hash = '';
  to.username = '';
  to.password = '';
  return to;
}
