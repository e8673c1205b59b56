import type { CaptureResult, MementoImport } from '../../../shared/captures.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { hasCaptureAt } from '../../store/sqlite/collection/captures.ts';
import type { Attempt } from '../fetch/attempt.ts';
import { fetchObject } from '../fetch/fetchObject.ts';
import type { ReceivedObject } from '../record/objectReceiver.ts';
import { detectPageLabel } from '../record/pageLabels.ts';
import { HostBackoffError } from '../schedule/hostRateLimiter.ts';
import { sourceIdOf } from '../sources/sources.ts';
import { type Capture, parseCaptureUrl, RefusedCaptureError } from './capture.ts';
import { type Chosen, chooseMementos } from './chooseMementos.ts';
import { headerOf } from './httpMessage.ts';
import { rawMementoUrl } from './rawMementoUrl.ts';
import { instantOfDate } from './readTimeMap.ts';
import { recordCapture } from './recordCapture.ts';
import type { MementoServices } from './services.ts';
import { Tally } from './tally.ts';

export interface MementoOptions {
  observer: string;
  signal: AbortSignal;
  tell?: (done: number, total: number) => void;
}

/**
 * Imports what an archive's TimeMap lists (RFC 7089), oldest first: each memento is asked for as it was taken, one after
 * the other, politely, and recorded as soon as it came. What was recorded before it was cancelled stays.
 *
 * @throws Problem `invalid_capture` where there is no TimeMap to be read.
 */
export async function importMementos(
  services: MementoServices,
  asked: MementoImport,
  { observer, signal, tell = () => {} }: MementoOptions,
): Promise<CaptureResult> {
  const tally = new Tally();
  let done = 0;
  let total = 0;
  try {
    const { chosen, beyond, isPrivate } = await chooseMementos(services, asked, signal);
    tally.refuse('beyond_limit', beyond);
    total = chosen.length;
    tell(0, total);
    const reading = { ...asked, observer, isPrivate, signal };
    for (const memento of chosen) {
      signal.throwIfAborted();
      await takeOne(services, reading, memento, tally);
      done += 1;
      tell(done, total);
    }
  } catch (error) {
    if (signal.aborted) tally.refuse('cancelled', total - done);
    else if (error instanceof HostBackoffError && total > 0) tally.refuse('host_held', total - done);
    else throw error instanceof HostBackoffError ? held(error) : error;
  }
  return tally.result();
}

function held({ until }: HostBackoffError): Problem {
  return new Problem(
    'invalid_capture',
    `The archive asked to be left alone until ${new Date(until).toISOString()}; try again then.`,
  );
}

type Reading = Pick<MementoImport, 'ignore_robots'> & {
  observer: string;
  isPrivate: boolean | undefined;
  signal: AbortSignal;
};

async function takeOne(
  services: MementoServices,
  reading: Reading,
  { uri, at, original }: Chosen,
  tally: Tally,
): Promise<void> {
  try {
    const url = parseCaptureUrl(original);
    const key = { source: sourceIdOf(url), observer: reading.observer, at: at ?? '' };
    if (hasCaptureAt(services.store.read, key)) return tally.record({ held: true, event: null });
    const attempt = await askFor(services, reading, rawMementoUrl(uri));
    const capture = await captureOf(attempt, url, at);
    await record(services, reading.observer, attempt.received, capture, tally);
  } catch (error) {
    if (!(error instanceof RefusedCaptureError)) throw error;
    tally.refuse(error.reason);
  }
}

/** Asks again after each of the growing delays as long as the archive cannot be reached or does not answer whole. */
async function askFor(
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
    const mayCome = attempt.received === null && attempt.error !== null && !FINAL_ERRORS.has(attempt.error);
    if (delay === null || !mayCome) return attempt;
    await fetching.clock.sleep(delay * 1000, signal);
    signal.throwIfAborted();
  }
  throw new Error('The last attempt has no delay after it.');
}

/** What another request would meet again. */
const FINAL_ERRORS: ReadonlySet<string> = new Set([
  'object_too_large',
  'redirect_refused',
  'robots_disallowed',
  'storage_full',
]);

/** @throws RefusedCaptureError where what came is no memento. */
async function captureOf(
  attempt: Attempt<ReceivedObject>,
  url: string,
  listedAt: string | null,
): Promise<Capture> {
  const { received, error } = attempt;
  const said = headerOf(attempt.headers, 'memento-datetime');
  // An archive that answers with an error of its own does not say of when that is.
  if (received === null || (error !== null && said === undefined)) {
    await received?.discard();
    throw new RefusedCaptureError(error === null || error === 'http_error' ? 'no_memento' : error);
  }
  const at = said === undefined ? listedAt : instantOfDate(said);
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
  try {
    await received?.keep(async (isHeld, release) => {
      if (!isHeld) throw new RefusedCaptureError('no_room');
      const recorded = await store.write((database) => {
        const outcome = recordCapture(database, store.instant(), observer, capture);
        release();
        return outcome;
      });
      tally.record(recorded);
    });
  } finally {
    await received?.discard();
  }
}
