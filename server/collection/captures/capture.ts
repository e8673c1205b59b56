import type { CaptureRefusal, CaptureResult } from '../../../shared/collection/captures.ts';
import type { PageLabel } from '../../../shared/collection/event.ts';
import type { Connection, Redirect, RetrievalError } from '../../../shared/collection/retrieval.ts';
import { watchedUrlSchema } from '../../../shared/collection/source.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { isHttpUrl } from '../../../shared/values/text.ts';
import { hasCapture, insertCapture, lastCapturedVersion } from '../../store/sqlite/collection/captures.ts';
import { insertRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import { firstEventWith, type NewEvent } from '../../store/sqlite/collection/timeline/events.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { isErrorStatus } from '../fetch/httpMessage.ts';
import type { FetchServices } from '../fetch/requester.ts';
import type { ObjectReceiver } from '../record/objectReceiver.ts';
import { recordEvent, recordedLabel } from '../record/recordRetrieval.ts';
import { findOrAddPausedSource, normalizeUrl, sourceIdOf } from '../sources/sources.ts';

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
  if (isErrorStatus(status)) return 'http_error';
  if (status === 301 || status === 302 || status === 303 || status === 307 || status === 308)
    return 'redirected';
  return status >= 200 && status < 300 && status !== 206 ? null : 'invalid_response';
}

/** Dependencies of the import of a WARC file. */
export interface WarcServices {
  store: Store;
  receiver: ObjectReceiver;
  settings: () => Settings;
}

/** Dependencies of the import from a Memento archive. */
export interface MementoServices extends WarcServices {
  fetching: FetchServices;
}

/** The result of recording a capture: whether it was already held, and the event if it brought a new version. */
export interface RecordedCapture {
  held: boolean;
  event: number | null;
}

/**
 * Records one capture inside the caller's transaction: the row of its object, the retrieval under the observer's name,
 * and an event in that observer's own sequence of versions. The state of the source itself does not change. The bytes
 * must already be on stable storage.
 *
 * @param now the time of the import by the server's clock; becomes `observed_at`.
 */
export function recordCapture(
  database: WriteDatabase,
  now: string,
  observer: string,
  capture: Capture,
): RecordedCapture {
  const { record_id, payload_digest, ...retrieved } = capture;
  const { sha256, bytes, original_observed_at } = capture;
  const source = findOrAddPausedSource(database, sourceIdOf(capture.url), capture.url, now);
  const key = { source_key: source.key, observer, original_observed_at, sha256 };
  if (!source.isNew && hasCapture(database, key)) return { held: true, event: null };
  createBlobRowIfAbsent(database, { sha256, bytes, stored_at: now });
  const common = {
    source_key: source.key,
    observer,
    observed_at: now,
    original_observed_at,
    sha256,
    page_label: recordedLabel(database, capture),
  };
  const retrieval = insertRetrieval(database, { ...retrieved, ...common, round: null });
  if (record_id !== null || payload_digest !== null)
    insertCapture(database, { retrieval, record_id, payload_digest });
  if (capture.error !== null) return { held: false, event: null };
  return { held: false, event: recordVersion(database, now, source, { ...common, retrieval }) };
}

/** Records the event of a captured version, if it is not the last one of this observer. Returns the number of the event. */
export function recordVersion(
  database: WriteDatabase,
  now: string,
  source: { id: string; url: string },
  version: Omit<NewEvent, 'id' | 'ledger_entry' | 'event_type' | 'previous_sha256' | 'reverts_to'> & {
    sha256: string;
  },
): number | null {
  const { source_key, observer, sha256 } = version;
  const previous = lastCapturedVersion(database, source_key, observer) ?? null;
  if (previous === sha256) return null;
  const isFirst = previous === null;
  return recordEvent(database, now, source, {
    ...version,
    event_type: isFirst ? 'first_seen' : 'changed',
    previous_sha256: previous,
    reverts_to: isFirst ? null : (firstEventWith(database, { source_key, observer, sha256 }) ?? null),
  });
}

/** Counts the results of an import. */
export class Tally {
  readonly #refused = new Map<CaptureRefusal, number>();
  readonly #events: number[] = [];
  captures = 0;
  alreadyHeld = 0;
  skipped = 0;

  refuse(reason: CaptureRefusal, count = 1): void {
    if (count > 0) this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + count);
  }

  /** Counts one capture that was recorded or already held, and its event, if any. */
  record(recorded: { held: boolean; event: number | null }): void {
    if (recorded.held) this.alreadyHeld += 1;
    else this.captures += 1;
    if (recorded.event !== null) this.#events.push(recorded.event);
  }

  result(): CaptureResult {
    return {
      captures: this.captures,
      already_held: this.alreadyHeld,
      skipped: this.skipped,
      events: this.#events,
      refused: [...this.#refused].map(([reason, count]) => ({ reason, count })),
    };
  }
}

/** Space is reserved in steps, because each reservation queries the disk. */
const STEP_BYTES = 8_388_608;

/** The disk space that one import has reserved for objects that have no row yet. */
export class CaptureSpace {
  readonly #receiver: ObjectReceiver;
  /** Reserved, and not assigned to any object. */
  #free = 0;
  /** Assigned to objects that have no row yet. */
  #assigned = 0;

  constructor(receiver: ObjectReceiver) {
    this.#receiver = receiver;
  }

  /** Reserves space for an object. Returns false if there is too little. */
  reserve(bytes: number): boolean {
    if (bytes > this.#free) {
      const step = Math.max(bytes - this.#free, STEP_BYTES);
      if (this.#receiver.reserveSpace(step)) this.#free += step;
      else if (this.#receiver.reserveSpace(bytes - this.#free)) this.#free = bytes;
      else return false;
    }
    this.#free -= bytes;
    this.#assigned += bytes;
    return true;
  }

  /** Releases the space of objects that their rows count from now on. */
  release(bytes: number): void {
    this.#assigned -= bytes;
    this.#receiver.releaseSpace(bytes);
  }

  close(): void {
    this.#receiver.releaseSpace(this.#free + this.#assigned);
    this.#free = 0;
    this.#assigned = 0;
  }
}

/** A capture file is cut off, corrupt or not a WARC file. */
export class DamagedCaptureFileError extends Error {
  /** Whether the record read last is unreliable too, because its checksum does not match. */
  readonly invalidatesLast: boolean;
  /** Whether nothing after this position can be read, not even if gzip members bound the records. */
  readonly endsFile: boolean;

  constructor(
    message: string,
    {
      invalidatesLast = false,
      endsFile = false,
      cause,
    }: { invalidatesLast?: boolean; endsFile?: boolean; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'DamagedCaptureFileError';
    this.invalidatesLast = invalidatesLast;
    this.endsFile = endsFile;
  }
}

/** A file decompresses to more than the limit. The records read before that are kept. */
export class CaptureFileTooLargeError extends Error {
  constructor(limit: number) {
    super(`The file decompresses to more than ${limit} bytes.`);
    this.name = 'CaptureFileTooLargeError';
  }
}
