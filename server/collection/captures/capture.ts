import type { CaptureRefusal } from '../../../shared/collection/captures.ts';
import type { Connection } from '../../../shared/collection/connection.ts';
import type { PageLabel } from '../../../shared/collection/event.ts';
import { type Redirect, type RetrievalError } from '../../../shared/collection/retrieval.ts';
import { watchedUrlSchema } from '../../../shared/collection/source.ts';
import { isHttpUrl } from '../../../shared/values/text.ts';
import { normalizeUrl } from '../sources/sources.ts';

/** The response that a capture holds. */
export interface CapturedAnswer {
  status: number | null;
  /** Why the response is not an observation, or null. */
  error: RetrievalError | null;
  content_type: string | null;
  headers: [string, string][];
  page_label: PageLabel | null;
}

/** One capture of an address by a third party. */
export interface Capture extends CapturedAnswer {
  url: string;
  /** The address that the capture was fetched from; `url` unless a web archive served it. */
  final_url: string;
  redirects: Redirect[];
  /** How the observer had it; absent if it is unknown. */
  connection?: Connection | undefined;
  /** When the third party captured it. */
  original_observed_at: string;
  sha256: string;
  bytes: number;
  duration_ms: number;
  record_id: string | null;
  payload_digest: string | null;
}

/** A capture that is not imported; refusals are counted by `reason`. */
export class RefusedCaptureError extends Error {
  readonly reason: CaptureRefusal;

  constructor(reason: CaptureRefusal) {
    super(reason);
    this.name = 'RefusedCaptureError';
    this.reason = reason;
  }
}

/** Normalises a captured address. @throws RefusedCaptureError */
export function parseCaptureUrl(text: string): string {
  if (/^(?!https?:)[a-z][a-z0-9+.-]*:/i.test(text)) throw new RefusedCaptureError('not_http');
  if (!isHttpUrl(text)) throw new RefusedCaptureError('malformed_url');
  const url = normalizeUrl(text);
  if (watchedUrlSchema.safeParse(url).success) return url;
  const { username, password } = new URL(url);
  throw new RefusedCaptureError(username || password ? 'credentials_in_url' : 'malformed_url');
}

/** WARC-Date: UTC to the second; WARC 1.1 allows up to nine fractional digits. Less precise dates are refused. */
const WARC_DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/** Parses a capture's time into the form used in rows. @throws RefusedCaptureError */
export function parseCaptureDate(text: string | undefined): string {
  const time = text !== undefined && WARC_DATE.test(text) ? Date.parse(text) : Number.NaN;
  const instant = Number.isNaN(time) ? '' : new Date(time).toISOString();
  // `Date.parse` reads 31 April as 1 May.
  if (text === undefined || instant.slice(0, 19) !== text.slice(0, 19))
    throw new RefusedCaptureError('malformed_date');
  return instant;
}

/** Returns why a response with this status is not an observation (contract: 2xx with its whole body), or null. */
export function errorOfStatus(status: number): RetrievalError | null {
  if (status >= 400) return 'http_error';
  if (status === 301 || status === 302 || status === 303 || status === 307 || status === 308)
    return 'redirected';
  return status >= 200 && status < 300 && status !== 206 ? null : 'invalid_response';
}
