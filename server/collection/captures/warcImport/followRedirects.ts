import type { Redirect } from '../../../../shared/collection/retrieval.ts';
import type { CaptureSpool, SpooledCapture } from '../../../store/sqlite/collection/captureSpool.ts';
import { isRedirect, redirectHeaders } from '../../fetch/redirects.ts';
import { sourceIdOf } from '../../sources/sources.ts';
import { parseCaptureUrl, RefusedCaptureError } from '../capture.ts';
import { headerOf } from './httpMessage.ts';
import type { SpooledRecord } from './resolveRevisit.ts';

/** Redirects that end at a capture of the same file. */
export interface RedirectChain {
  redirects: Redirect[];
  target: SpooledCapture;
}

const MAX_REDIRECTS = 10;
/** Crawlers request the target of a redirect soon after it. A later capture need not belong to it. */
const MAX_DELAY_MS = 600_000;

/**
 * Follows the `Location` of a captured redirect through the captures of the same file, to the first one that is no
 * redirect.
 *
 * @returns undefined if the capture is no redirect, or the file does not contain what it leads to.
 */
export function followRedirects(spool: CaptureSpool, first: SpooledCapture): RedirectChain | undefined {
  const redirects: Redirect[] = [];
  const seen = new Set<string>();
  for (let at: SpooledCapture | undefined = first; at; ) {
    const { url, answer } = JSON.parse(at.record) as SpooledRecord;
    const { status, headers } = answer ?? { status: null, headers: [] };
    if (status === null || !isRedirect({ status }))
      return redirects.length > 0 ? { redirects, target: at } : undefined;
    seen.add(at.source);
    redirects.push({ url, status, headers: redirectHeaders(headers) });
    const to = targetOf(url, headerOf(headers, 'location'));
    if (to === undefined || seen.has(to) || redirects.length > MAX_REDIRECTS) return undefined;
    at = spool.firstWithin(to, at.at, new Date(Date.parse(at.at) + MAX_DELAY_MS).toISOString());
  }
  return undefined;
}

/** Returns the source id of the address that a redirect leads to. */
function targetOf(from: string, location: string | undefined): string | undefined {
  const to = location === undefined ? null : URL.parse(location, from);
  if (!to) return undefined;
  try {
    return sourceIdOf(parseCaptureUrl(to.href));
  } catch (error) {
    if (error instanceof RefusedCaptureError) return undefined;
    throw error;
  }
}
