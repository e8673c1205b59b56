import type { CaptureRefusal } from '../../../shared/captures.ts';
import type { PageLabel } from '../../../shared/event.ts';
import { type RetrievalError, watchedUrlSchema } from '../../../shared/source.ts';
import { isHttpUrl } from '../../../shared/text.ts';
import { normalizeUrl } from '../sources/sources.ts';

/** What a capture says of the answer that it holds. */
export interface CapturedAnswer {
  status: number | null;
  /** Why it is no observation, or null. */
  error: RetrievalError | null;
  content_type: string | null;
  headers: [string, string][];
  page_label: PageLabel | null;
}

/** One capture of an address by a third party. */
export interface Capture extends CapturedAnswer {
  url: string;
  /** The address that it was read from, where that is another. */
  final_url: string;
  redirects: { url: string; status: number }[];
  /** The capture's own time. */
  original_observed_at: string;
  sha256: string;
  bytes: number;
  duration_ms: number;
  record_id: string | null;
  payload_digest: string | null;
}

/** A capture that is not taken, by the word that its refusal is counted under. */
export class RefusedCaptureError extends Error {
  readonly reason: CaptureRefusal;

  constructor(reason: CaptureRefusal) {
    super(reason);
    this.name = 'RefusedCaptureError';
    this.reason = reason;
  }
}

/** The one form of a captured address. @throws RefusedCaptureError */
export function parseCaptureUrl(text: string): string {
  if (/^(?!https?:)[a-z][a-z0-9+.-]*:/i.test(text)) throw new RefusedCaptureError('not_http');
  if (!isHttpUrl(text)) throw new RefusedCaptureError('malformed_url');
  const url = normalizeUrl(text);
  if (watchedUrlSchema.safeParse(url).success) return url;
  const { username, password } = new URL(url);
  throw new RefusedCaptureError(username || password ? 'credentials_in_url' : 'malformed_url');
}

/** WARC-Date: UTC to the second, with up to nine more digits in WARC 1.1; what it is less exact in is no instant. */
const WARC_DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/** A capture's time as rows write it. @throws RefusedCaptureError */
export function parseCaptureDate(text: string | undefined): string {
  const time = text !== undefined && WARC_DATE.test(text) ? Date.parse(text) : Number.NaN;
  const instant = Number.isNaN(time) ? '' : new Date(time).toISOString();
  // The 31st of April is read as the 1st of May.
  if (text === undefined || instant.slice(0, 19) !== text.slice(0, 19))
    throw new RefusedCaptureError('malformed_date');
  return instant;
}

/** Why an answer of this status is no observation (contract: 2xx with its whole body), or null. */
export function errorOfStatus(status: number): RetrievalError | null {
  if (status >= 400) return 'http_error';
  if (status === 301 || status === 302 || status === 303 || status === 307 || status === 308)
    return 'redirected';
  return status >= 200 && status < 300 && status !== 206 ? null : 'invalid_response';
}
