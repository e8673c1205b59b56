import type { CaptureResult, MementoImport } from '../../../../shared/collection/captures.ts';
import { MEGABYTE } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { hasCaptureAt } from '../../../store/sqlite/collection/captures.ts';
import { fetchObject } from '../../fetch/fetchObject.ts';
import { headerOf } from '../../fetch/httpMessage.ts';
import type { Attempt } from '../../fetch/requester.ts';
import type { ReceivedObject } from '../../record/objectReceiver.ts';
import { detectPageLabel } from '../../record/quality/judgePage.ts';
import { HostBackoffError } from '../../schedule/hostRateLimiter.ts';
import { privateRuleFor } from '../../sources/privateSources.ts';
import { sourceIdOf } from '../../sources/sources.ts';
import {
  type Capture,
  type MementoServices,
  parseCaptureUrl,
  RefusedCaptureError,
  recordCapture,
  Tally,
} from '../capture.ts';
import {
  InvalidTimeMapError,
  instantOfDate,
  type ListedMemento,
  parseTimeMap,
  rawMementoUrl,
} from './parseTimeMap.ts';

interface MementoOptions {
  observer: string;
  signal: AbortSignal;
  onProgress?: (done: number, total: number) => void;
}

/**
 * Imports the mementos that an archive's TimeMap lists (RFC 7089), oldest first. Mementos are fetched one at a time, in
 * their original form and within the host's rate limit, and recorded as they arrive. Cancelling keeps those recorded.
 *
 * @throws Problem `invalid_capture` if the TimeMap cannot be read.
 */
export async function importMementos(
  services: MementoServices,
  request: MementoImport,
  { observer, signal, onProgress = () => {} }: MementoOptions,
): Promise<CaptureResult> {
  const tally = new Tally();
  let done = 0;
  let total = 0;
  try {
    const { chosen, beyond, isPrivate } = await chooseMementos(services, request, signal);
    tally.refuse('beyond_limit', beyond);
    total = chosen.length;
    onProgress(0, total);
    const reading = { ...request, observer, isPrivate, signal };
    for (const memento of chosen) {
      signal.throwIfAborted();
      await importOne(services, reading, memento, tally);
      done += 1;
      onProgress(done, total);
    }
  } catch (error) {
    if (signal.aborted) tally.refuse('cancelled', total - done);
    else if (error instanceof HostBackoffError && total > 0) tally.refuse('host_held', total - done);
    else throw error instanceof HostBackoffError ? hostHeld(error) : error;
  }
  return tally.result();
}

function hostHeld({ until }: HostBackoffError): Problem {
  return new Problem(
    'invalid_capture',
    `The archive accepts no requests until ${new Date(until).toISOString()}. Try again then.`,
  );
}

type Reading = Pick<MementoImport, 'ignore_robots'> & {
  observer: string;
  isPrivate: boolean | undefined;
  signal: AbortSignal;
};

async function importOne(
  services: MementoServices,
  reading: Reading,
  { uri, at, original }: ChosenMemento,
  tally: Tally,
): Promise<void> {
  try {
    const url = parseCaptureUrl(original);
    const key = { source: sourceIdOf(url), observer: reading.observer, at: at ?? '' };
    if (hasCaptureAt(services.store.read, key)) return tally.record({ held: true, event: null });
    const attempt = await fetchWithRetries(services, reading, rawMementoUrl(uri));
    const capture = await captureOf(attempt, url, at);
    await record(services, reading.observer, attempt.received, capture, tally);
  } catch (error) {
    if (!(error instanceof RefusedCaptureError)) throw error;
    tally.refuse(error.reason);
  }
}

/** Retries after each configured delay while the archive is unreachable or its responses are incomplete. */
async function fetchWithRetries(
  { receiver, settings, fetching }: MementoServices,
  { ignore_robots, isPrivate, signal }: Reading,
  url: string,
): Promise<Attempt<ReceivedObject>> {
  const { user_agent, request_timeout_seconds, max_object_mb, retry_delays_seconds } = settings();
  for (const delay of [...retry_delays_seconds, null]) {
    const attempt = await fetchObject(fetching, {
      url,
      headers: {},
      userAgent: user_agent,
      ignoreRobots: ignore_robots,
      timeoutMs: request_timeout_seconds * 1000,
      maxBytes: Math.floor(max_object_mb * MEGABYTE),
      validators: async () => undefined,
      receive: (chunks, maxBytes) => receiver.receive(chunks, maxBytes),
      allowPrivateAddress: isPrivate,
      signal,
    });
    const mayRetry = attempt.received === null && attempt.error !== null && !FINAL_ERRORS.has(attempt.error);
    if (delay === null || !mayRetry) return attempt;
    await fetching.clock.sleep(delay * 1000, signal);
    signal.throwIfAborted();
  }
  throw new Error('The last attempt has no delay after it.');
}

/** Errors that a retry cannot resolve. */
const FINAL_ERRORS: ReadonlySet<string> = new Set([
  'object_too_large',
  'redirect_refused',
  'robots_disallowed',
  'storage_full',
]);

/** @throws RefusedCaptureError if the response is not a memento. */
async function captureOf(
  attempt: Attempt<ReceivedObject>,
  url: string,
  listedAt: string | null,
): Promise<Capture> {
  const { received, error } = attempt;
  const datetime = headerOf(attempt.headers, 'memento-datetime');
  // An error without Memento-Datetime is the archive's own error, not a capture.
  if (received === null || (error !== null && datetime === undefined)) {
    await received?.discard();
    throw new RefusedCaptureError(error === null || error === 'http_error' ? 'no_memento' : error);
  }
  const at = datetime === undefined ? listedAt : instantOfDate(datetime);
  if (at === null) {
    await received.discard();
    throw new RefusedCaptureError('malformed_date');
  }
  return {
    url,
    final_url: attempt.final_url,
    redirects: attempt.redirects,
    original_observed_at: at,
    status: attempt.status,
    error,
    content_type: attempt.content_type,
    headers: attempt.headers,
    page_label: await detectPageLabel({ ...attempt, url }),
    sha256: received.sha256,
    bytes: received.bytes,
    duration_ms: attempt.duration_ms,
    record_id: null,
    payload_digest: null,
  };
}

async function record(
  { store }: MementoServices,
  observer: string,
  received: ReceivedObject | null,
  capture: Capture,
  tally: Tally,
): Promise<void> {
  if (received === null) return;
  try {
    const { isStored, reservation } = await received.keep();
    if (!isStored) throw new RefusedCaptureError('no_room');
    const recorded = await store.write(
      (database) => recordCapture(database, store.instant(), observer, capture),
      { reservation },
    );
    tally.record(recorded);
  } finally {
    await received.discard();
  }
}

/** A memento to be fetched. */
interface ChosenMemento extends ListedMemento {
  original: string;
}

/** Limits on the size of one page of a TimeMap, the number of pages, and the captures listed on all of them. */
const MAX_PAGE_BYTES = 16_777_216;
const MAX_PAGES = 100;
const MAX_LISTED = 500_000;

/**
 * Reads all pages of a TimeMap and selects the requested mementos, oldest first.
 *
 * @returns the mementos, how many exceed the limit, and whether the TimeMap is at a private address.
 * @throws Problem `invalid_capture`; HostBackoffError; the signal's reason.
 */
async function chooseMementos(
  services: MementoServices,
  request: MementoImport,
  signal: AbortSignal,
): Promise<{ chosen: ChosenMemento[]; beyond: number; isPrivate: boolean | undefined }> {
  const pages = new Set([new URL(request.timemap).href]);
  const found = new Map<string, ChosenMemento>();
  let original: string | null = null;
  let isPrivate: boolean | undefined = await privateRuleFor(services.fetching, request.timemap);
  // Iterating a set includes the elements added meanwhile.
  for (const url of pages) {
    if (pages.size > MAX_PAGES) throw unreadable(`It has more than ${MAX_PAGES} pages.`);
    const attempt = await fetchPage(services, request, { url, isPrivate, signal });
    isPrivate ??= attempt.isPrivate;
    const page = await readPage(attempt);
    original ??= page.original;
    for (const memento of page.mementos) {
      const captured = memento.original ?? page.original ?? original;
      if (captured !== null && isWithin(memento.at, request))
        found.set(memento.uri, { ...memento, original: captured });
    }
    for (const more of page.more) pages.add(more);
    if (found.size > MAX_LISTED) throw unreadable(`It lists more than ${MAX_LISTED} captures.`);
  }
  const sorted = [...found.values()].sort((left, right) => compare(left.at ?? '', right.at ?? ''));
  const chosen = sorted.slice(0, request.limit);
  return { chosen, beyond: sorted.length - chosen.length, isPrivate };
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function isWithin(at: string | null, { from, to }: Pick<MementoImport, 'from' | 'to'>): boolean {
  if (at === null) return from === undefined && to === undefined;
  const time = Date.parse(at);
  const isDate = to !== undefined && /^\d{4}-\d\d-\d\d$/.test(to);
  const end = to === undefined ? Number.POSITIVE_INFINITY : Date.parse(isDate ? `${to}T23:59:59.999Z` : to);
  return (from === undefined || time >= Date.parse(from)) && time <= end;
}

type Page = Attempt<string>;

function fetchPage(
  { settings, fetching }: MementoServices,
  { ignore_robots }: MementoImport,
  { url, isPrivate, signal }: { url: string; isPrivate: boolean | undefined; signal: AbortSignal },
): Promise<Page> {
  const { user_agent, request_timeout_seconds } = settings();
  return fetchObject(fetching, {
    url,
    headers: { accept: 'application/link-format, application/json;q=0.5, */*;q=0.1' },
    userAgent: user_agent,
    ignoreRobots: ignore_robots,
    timeoutMs: request_timeout_seconds * 1000,
    maxBytes: MAX_PAGE_BYTES,
    validators: async () => undefined,
    receive: receiveText,
    allowPrivateAddress: isPrivate,
    signal,
  });
}

async function receiveText(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const held: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) throw unreadable(`One of its pages has more than ${maxBytes} bytes.`);
  }
  return Buffer.concat(held, bytes).toString('utf8');
}

async function readPage({ received, error, status, final_url }: Page) {
  if (received === null || error !== null)
    throw unreadable(
      `It could not be fetched: ${status === null ? (error ?? 'no answer') : `the answer was ${status}`}.`,
    );
  try {
    return await parseTimeMap(received, final_url);
  } catch (failure) {
    if (failure instanceof InvalidTimeMapError) throw unreadable(failure.message);
    throw failure;
  }
}

function unreadable(why: string): Problem {
  return new Problem('invalid_capture', `This TimeMap cannot be read. ${why}`);
}
