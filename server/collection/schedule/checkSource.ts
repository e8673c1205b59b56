import { SELF } from '../../../shared/collection/observers.ts';
import type { RetrievalError } from '../../../shared/collection/retrieval.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import {
  firstHeadersOfObject,
  type NewRetrieval,
  type Validators,
  validatorsOf,
} from '../../store/sqlite/collection/retrievals.ts';
import type { SourceRow } from '../../store/sqlite/collection/sources.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import { fetchObject, setCookiesOf } from '../fetch/fetchObject.ts';
import type { Attempt, FetchServices } from '../fetch/requester.ts';
import type { PageToCapture } from '../pages/captureQueue.ts';
import { loginOfCheck } from '../profiles/logins.ts';
import type { ProfileSession, Profiles } from '../profiles/profiles.ts';
import {
  type KeptObject,
  type ObjectReceiver,
  type ReceivedObject,
  withHeldCertificates,
} from '../record/objectReceiver.ts';
import { describePage } from '../record/quality/judgePage.ts';
import {
  type Outcome,
  type RecordResult,
  recordRetrieval,
  type SavedRetrieval,
} from '../record/recordRetrieval.ts';
import { type Secrets, secretsOf } from '../record/secrets.ts';
import { allowsPrivateAddress } from '../sources/privateSources.ts';
import { MAX_BACKOFF_IN_ROUND_MS } from './hostRateLimiter.ts';

export interface CheckServices extends FetchServices {
  store: Store;
  clock: Clock;
  receiver: ObjectReceiver;
  profiles: Pick<Profiles, 'sessionOf'>;
  settings: () => Settings;
}

/** The result of one check of a source, including its retries. */
export interface SourceCheck {
  error: RetrievalError | null;
  recorded: RecordResult;
  /** A network failure that is recorded but not yet counted; else null. */
  deferred: SavedRetrieval | null;
  /** The page to draw, if the source is to be captured as a page and answered with one; else null. */
  page: PageToCapture | null;
}

interface CheckOptions {
  round: number;
  signal: AbortSignal;
  /** Called when any host responds. */
  onResponse: () => void;
  /** Returns whether a network failure is deferred instead of counted at once. */
  mayDefer: () => boolean;
  /** Returns when a source is due again. It is never earlier than `notBefore` (Retry-After). */
  dueAt: (source: SourceRow, notBefore: number | null) => string;
  /** Whether a page is drawn whatever `capture` says. */
  asPage?: boolean | undefined;
}

type RecordOptions = CheckOptions & { isLast: boolean; session: ProfileSession | undefined };
type PageToDraw = Omit<PageToCapture, 'retrieval'>;

/** Failures that this node decided itself, so that a retry would fail in the same way. */
const FINAL_ERRORS: ReadonlySet<RetrievalError> = new Set([
  'object_too_large',
  'redirect_refused',
  'robots_disallowed',
  'storage_full',
  'invalid_url',
  'profile_expired',
]);

function isOwnRefusal(error: RetrievalError | null): boolean {
  return error !== null && FINAL_ERRORS.has(error);
}

/**
 * Checks one source. Retries a failed request after each of the configured delays. Records every attempt, but only the
 * last one changes the source's state.
 *
 * @throws HostBackoffError; LoginMissingError; the signal's reason.
 */
export async function checkSource(
  services: CheckServices,
  source: SourceRow,
  options: CheckOptions,
): Promise<SourceCheck> {
  const { clock, settings } = services;
  for (const delay of [...settings().retry_delays_seconds, null]) {
    const session = await services.profiles.sessionOf(source);
    const attempt = await fetchSource(services, source, session, options);
    if (attempt.answered) options.onResponse();
    const retryIn = retryDelay(attempt, delay, clock.now());
    const check = await record(services, source, attempt, {
      ...options,
      session,
      isLast: retryIn === null,
    });
    if (retryIn === null) return check;
    await clock.sleep(retryIn, options.signal);
    options.signal.throwIfAborted();
  }
  throw new Error('The last attempt is never retried.');
}

/** Returns the delay before the next attempt in milliseconds, or null if this round makes no further attempt. */
function retryDelay(
  { error, retry_at }: Attempt<ReceivedObject>,
  delay: number | null,
  now: number,
): number | null {
  if (error === null || delay === null || isOwnRefusal(error)) return null;
  const wait = Math.max(delay * 1000, (retry_at ?? 0) - now);
  return wait > Math.max(MAX_BACKOFF_IN_ROUND_MS, delay * 1000) ? null : wait;
}

async function fetchSource(
  { store, receiver, settings, connections, ...services }: CheckServices,
  source: SourceRow,
  session: ProfileSession | undefined,
  { signal, asPage }: CheckOptions,
): Promise<Attempt<ReceivedObject>> {
  const { user_agent, request_timeout_seconds, max_object_mb } = settings();
  // A connection over which a login was sent is not used for anything else.
  const network = session || !connections ? services : { ...services, connections };
  return fetchObject(network, {
    url: source.url,
    headers: source.headers,
    login: session,
    userAgent: user_agent,
    ignoreRobots: source.ignore_robots,
    timeoutMs: request_timeout_seconds * 1000,
    maxBytes: Math.floor((source.max_object_mb ?? max_object_mb) * MEGABYTE),
    validators: async () => {
      await receiver.waitForBacklog();
      if (source.last_sha256 === null) return undefined;
      const validators = validatorsOf(store.read, source.key);
      const isNeededHere = isDrawn(source, asPage);
      return validators && (await receiver.isStored(validators.sha256, isNeededHere))
        ? validators
        : undefined;
    },
    receive: (chunks, maxBytes) => receiver.receive(chunks, maxBytes),
    ...(allowsPrivateAddress(source, services.isPrivateAddress) ? {} : { allowPrivateAddress: false }),
    signal,
  });
}

async function record(
  { store, settings, receiver }: CheckServices,
  source: SourceRow,
  attempt: Attempt<ReceivedObject>,
  { round, isLast, mayDefer, dueAt, asPage, session }: RecordOptions,
): Promise<SourceCheck> {
  const { received } = attempt;
  const certificates = await receiver.keepCertificates(attempt.certificates);
  try {
    const { page_label, title } = await describePage({ ...attempt, url: source.url });
    const login = await loginOfCheck(store, source, { session, attempt, page_label, isLast });
    const secrets = secretsOf(source, session);
    const fetched = login.asRecorded(
      retrievalOf(source, attempt, { round, at: store.instant(), page_label }),
    );
    const complete = withHeldCertificates(withoutSecrets(fetched, secrets, attempt), (sha256) =>
      certificates.held.has(sha256),
    );
    const { isStored, reservation }: KeptObject = (await received?.keep(isDrawn(source, asPage))) ?? {
      isStored: true,
    };
    const retrieval = isStored ? complete : withoutObject(complete);
    const isDeferred = isLast && !attempt.answered && !isOwnRefusal(retrieval.error) && mayDefer();
    const refused = retrieval.error === 'storage_full' ? (received?.bytes ?? 0) : null;
    const page = pageToCapture(store, source, attempt, retrieval, asPage);
    const recorded = await recordRetrieval(
      store,
      {
        retrieval,
        outcome: isLast && !isDeferred ? outcomeOf(retrieval) : null,
        validators: (database, current) =>
          login.mayKeepValidators(database, current) ? validatorsAfter(attempt, retrieval) : undefined,
        ...(isLast ? { dueAt: (current: SourceRow) => dueAt(current, attempt.retry_at) } : {}),
        title: needsTitle(source, retrieval) ? withoutSecretsIn(title, secrets) : null,
        andAlso: login.andAlso(retrieval, { isDrawnNext: page !== null }),
        reservation,
        ...(refused === null ? {} : { refusedBytes: refused }),
      },
      settings(),
    );
    certificates.recorded();
    if (retrieval.sha256 !== null) await received?.recorded();
    return {
      error: retrieval.error,
      recorded,
      deferred: isDeferred ? { ...retrieval, id: recorded.retrieval } : null,
      page: page && { ...page, retrieval: recorded.retrieval },
    };
  } finally {
    await certificates.discard();
    await received?.discard();
  }
}

/** Returns a retrieval without the secrets of its requests and the cookies that the site set in response. */
function withoutSecrets(
  retrieval: NewRetrieval,
  secrets: Secrets | undefined,
  { redirectCookies, headers }: Attempt<ReceivedObject>,
): NewRetrieval {
  secrets?.addCookies([...redirectCookies.flat(), ...setCookiesOf(headers)]);
  return secrets?.redacted(retrieval) ?? retrieval;
}

function withoutSecretsIn(title: string | null, secrets: Secrets | undefined): string | null {
  return title && (secrets?.without(title) ?? title);
}

function retrievalOf(
  source: SourceRow,
  attempt: Attempt<ReceivedObject>,
  { round, at, page_label }: Pick<NewRetrieval, 'round' | 'page_label'> & { at: string },
): NewRetrieval {
  const { received, unchanged } = attempt;
  return {
    source_key: source.key,
    round,
    url: source.url,
    final_url: attempt.final_url,
    redirects: attempt.redirects,
    observer: SELF,
    observed_at: at,
    original_observed_at: null,
    status: attempt.status,
    error: attempt.error,
    // A 304 may omit the content type of the stored object (RFC 9111, section 4.3.4).
    content_type: attempt.content_type ?? unchanged?.content_type ?? null,
    headers: attempt.headers,
    request: attempt.request,
    sha256: received?.sha256 ?? unchanged?.sha256 ?? null,
    bytes: received?.bytes ?? null,
    duration_ms: attempt.duration_ms,
    page_label,
    connection: attempt.connection,
  };
}

function isHtml(content_type: string | null): boolean {
  return /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(content_type ?? '');
}

/** Whether a page is drawn of what a source delivers. Its document must then be on this disk: no copy may be reached. */
function isDrawn({ capture }: SourceRow, asPage = false): boolean {
  return capture === 'page' || asPage;
}

/** Returns the page that is drawn after a check: that of an HTML document which was fetched whole, or has not changed. */
function pageToCapture(
  { read }: Pick<Store, 'read'>,
  source: SourceRow,
  { unchanged, isPrivate, final_url, redirects, redirectCookies, headers }: Attempt<ReceivedObject>,
  { error, sha256, status, content_type }: NewRetrieval,
  asPage?: boolean,
): PageToDraw | null {
  if (!isDrawn(source, asPage)) return null;
  if (error !== null || sha256 === null || status === null || isReleased(read, sha256)) return null;
  if (!isHtml(content_type)) return null;
  // A 304 has not the headers of the document, but those of a message about it.
  const stored = unchanged ? firstHeadersOfObject(read, sha256)?.headers : undefined;
  return {
    source,
    document: {
      url: source.url,
      final_url,
      redirects,
      redirectCookies,
      status: unchanged ? 200 : status,
      headers: stored ?? headers,
      sha256,
      isPrivate: isPrivate === true,
    },
  };
}

/**
 * Whether the source may get the title of the page as its name: not that of a bot wall or an error page, and not one that
 * only a login shows, because names are public.
 */
function needsTitle({ name, state, needs_login }: SourceRow, { error, page_label }: NewRetrieval): boolean {
  return name === '' && state === 'new' && !needs_login && error === null && page_label === null;
}

/** Returns the retrieval as it is recorded if there was no space for the body: without an object. */
function withoutObject(retrieval: NewRetrieval): NewRetrieval {
  return { ...retrieval, sha256: null, bytes: null, error: retrieval.error ?? 'storage_full' };
}

function outcomeOf({ error, sha256, status }: NewRetrieval): Outcome | null {
  if (error === null && sha256 !== null) return { kind: 'object', sha256 };
  if (error === 'storage_full') return null;
  return error === 'http_error' && (status === 404 || status === 410)
    ? { kind: 'missing' }
    : { kind: 'failure' };
}

function validatorsAfter(
  attempt: Attempt<ReceivedObject>,
  { sha256, content_type }: NewRetrieval,
): Validators | undefined {
  if (attempt.unchanged) return attempt.unchanged;
  const etag = headerOf(attempt, 'etag');
  const last_modified = trustedLastModified(attempt);
  if (sha256 === null || (etag === null && last_modified === null)) return undefined;
  return { url: attempt.final_url, etag, last_modified, sha256, content_type };
}

/**
 * Returns Last-Modified if it is a strong validator. A page that was modified in the second in which it was served may
 * change again in the same second, which If-Modified-Since cannot detect (RFC 9110, section 8.8.2.2).
 */
function trustedLastModified(attempt: Attempt<ReceivedObject>): string | null {
  const modified = headerOf(attempt, 'last-modified');
  if (modified === null) return null;
  const at = Date.parse(modified);
  const served = Date.parse(headerOf(attempt, 'date') ?? '');
  return Number.isNaN(at) || served - at < 1000 ? null : modified;
}

function headerOf({ headers }: Attempt<ReceivedObject>, name: string): string | null {
  return headers.find(([key]) => key.toLowerCase() === name)?.[1] ?? null;
}
