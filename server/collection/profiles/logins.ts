import type { ExpiryReason } from '../../../shared/collection/profile.ts';
import { Problem } from '../../../shared/problems.ts';
import { startOfBlob } from '../../store/blobs/offloadedBlobs.ts';
import {
  markExpired,
  markWorking,
  openPartsOfPage,
  wasWithheldForLogin,
} from '../../store/sqlite/collection/profiles.ts';
import type { NewRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import type { SourceRow } from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { withholdNow } from '../../withholding/withholding.ts';
import type { Attempt } from '../fetch/requester.ts';
import type { ReceivedObject } from '../record/objectReceiver.ts';
import { WITHHELD_REASON } from '../record/recordRetrieval.ts';
import type { ProfileSession } from './profiles.ts';

/** What the login of a source means for the record of an attempt. */
interface LoginOfCheck {
  /** Returns the retrieval without what quotes the page, and as failed if the login no longer works. */
  asRecorded(retrieval: NewRetrieval): NewRetrieval;
  /**
   * Whether the validators of the answer are kept: not if the source has another login meanwhile, or none, and not if the
   * login is in them or in the address, because they are stored in the clear.
   */
  mayKeepValidators(database: WriteDatabase, source: SourceRow): boolean;
  /** Returns what is recorded in the same transaction. If the page is drawn next, its scripts say whether the login works. */
  andAlso(
    retrieval: NewRetrieval,
    page: { isDrawnNext: boolean },
  ): ((database: WriteDatabase, retrieval: number) => void) | undefined;
}

const WITHOUT_LOGIN: LoginOfCheck = {
  asRecorded: (retrieval) => retrieval,
  mayKeepValidators: (_, { needs_login }) => !needs_login,
  andAlso: () => undefined,
};

interface CheckedAttempt {
  session: ProfileSession | undefined;
  attempt: Attempt<ReceivedObject>;
  page_label: NewRetrieval['page_label'];
  /** Only the last attempt of a check says that the login has expired. */
  isLast: boolean;
}

/** Judges the login with which a source was fetched. */
export async function loginOfCheck(
  store: Store,
  source: SourceRow,
  { session, isLast, ...checked }: CheckedAttempt,
): Promise<LoginOfCheck> {
  if (!session) return WITHOUT_LOGIN;
  const { final_url, headers } = checked.attempt;
  const noticed = await expiryIn(store, source, checked);
  const expiry = isLast ? noticed : undefined;
  return {
    asRecorded: ({ page_label, ...retrieval }) => ({
      ...retrieval,
      // The reason quotes the page, and records are public.
      page_label: page_label && { ...page_label, reason: WITHHELD_REASON },
      ...(expiry && { error: 'profile_expired' as const }),
    }),
    mayKeepValidators: (database, current) =>
      current.profile === session.id &&
      session.isCurrent(database) &&
      !session.secrets.isIn(`${final_url} ${headers.find(([name]) => /^etag$/i.test(name))?.[1]}`),
    andAlso: ({ source_key, sha256, error }, { isDrawnNext }) => {
      const result = expiry ?? (error === null && !isDrawnNext ? 'works' : 'unknown');
      return (database, retrieval) => {
        const at = store.instant();
        withholdFromBirth(database, { retrieval, sha256, source: source_key, at });
        // What the attempt shows may pass, but the cookies that it set are those of a login page.
        if (noticed === expiry) recordLogin(database, session, { result, source: source_key, at });
      };
    },
  };
}

/** Returns by what an attempt shows that the site no longer accepts the login. */
async function expiryIn(
  store: Store,
  { url, last_sha256 }: SourceRow,
  { attempt, page_label }: Pick<CheckedAttempt, 'attempt' | 'page_label'>,
): Promise<ExpiryReason | undefined> {
  const { final_url, redirects, status, unchanged, content_type, beginning, received } = attempt;
  // Without an answer, only a redirect can say it: robots.txt may keep the node from the login page.
  if (unchanged || (status === null && redirects.length === 0)) return undefined;
  const isNew = received !== null && received.sha256 !== last_sha256;
  const html = isNew && /html/i.test(content_type ?? '') ? beginning.toString('utf8') : '';
  return expiryOf({
    url,
    final_url,
    status,
    isWall: page_label?.label === 'bot_wall' || page_label?.label === 'rate_limit',
    html,
    before: html === '' || last_sha256 === null ? undefined : await beginningOf(store, last_sha256),
    hasVersion: last_sha256 !== null,
  });
}

/*
 * Whether a site still accepts a login is said by nothing in HTTP alone. These rules are narrow: a page is taken for a login
 * page if it stands where the site redirects to, or if it asks for a password where it did not before.
 */

/** What is known of an answer to a source that is watched with a login. */
interface AnswerToJudge {
  /** The address that is watched, and the one that answered. */
  url: string;
  final_url: string;
  status: number | null;
  /** Whether the answer is probably that of a bot wall or of a rate limit. */
  isWall: boolean;
  /** The beginning of the body, if it is HTML; else empty. */
  html: string;
  /** The beginning of the version before, if it is HTML; undefined if there is none, or it cannot be read. */
  before: string | undefined;
  /** Whether the source has answered with an object before. */
  hasVersion: boolean;
}

/** Returns by what an answer shows that the site no longer accepts the login; undefined if it does not show it. */
export function expiryOf(answer: AnswerToJudge): ExpiryReason | undefined {
  const { url, final_url, status, isWall, hasVersion } = answer;
  if (isWall) return undefined;
  if (isLoginAddress(final_url) && !isLoginAddress(url)) return 'login_page';
  if (status === 401) return 'unauthorized';
  if (status === 403 && hasVersion) return 'forbidden';
  return asksAnew(answer);
}

function asksAnew({ url, final_url, status, html, before }: AnswerToJudge): ExpiryReason | undefined {
  if (status === null || status < 200 || status >= 300 || !asksForPassword(html)) return undefined;
  if (before !== undefined) return asksForPassword(before) ? undefined : 'password_field';
  return withoutQuery(url) === withoutQuery(final_url) ? undefined : 'login_page';
}

const LOGIN_WORD =
  /(^|[/._-])(log-?in|log_in|sign-?in|sign_in|log-?on|sign-?on|sso|saml2?|session\/new|sessions\/new|authenticate|anmelden|anmeldung|einloggen|connexion|accedi|iniciar-sesion|logowanie)([/._-]|$)/i;

/** Whether the path of an address, or the name of its host, says that it is for logging in. */
export function isLoginAddress(address: string): boolean {
  const url = URL.parse(address);
  if (!url) return false;
  // A page of a single-page application may be named behind the `#`.
  const route = /^#!?\//.test(url.hash) ? url.hash.replace(/^#!?/, '') : '';
  return (
    LOGIN_WORD.test(url.pathname) || LOGIN_WORD.test(route) || /^(login|signin|sso)\./.test(url.hostname)
  );
}

/** Whether a page has a field for a password. A tag is read up to the next one, so that no page takes long. */
export function asksForPassword(html: string): boolean {
  return /<input\b[^<>]{0,2000}\btype\s*=\s*["']?password\b/i.test(html);
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/, '');
}

const BEGINNING_BYTES = 65_536;

/** Returns the beginning of an object as text; undefined if its bytes cannot be read now. */
export async function beginningOf(
  { blobs }: Pick<Store, 'blobs'>,
  sha256: string,
): Promise<string | undefined> {
  try {
    const bytes = await startOfBlob(blobs, sha256, BEGINNING_BYTES);
    return bytes && Buffer.from(bytes).toString('utf8');
  } catch (error) {
    // It may be in a copy only, which does not answer. The source is checked all the same.
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** What a check, or a drawn page, showed of a login. `unknown`: there was no answer that says it. */
type LoginResult = 'works' | 'unknown' | ExpiryReason;

/**
 * Records what was found out about a login, inside the transaction that records what was got with it. Cookies that the site
 * has set are kept, but not those of a login page, which would take the place of a session that may work again.
 */
export function recordLogin(
  database: WriteDatabase,
  session: ProfileSession,
  { result, source, at }: { result: LoginResult; source: number; at: string },
): void {
  const profile = session.id;
  // What the old cookies brought says nothing of the new ones.
  if (!session.isCurrent(database)) return;
  if (result === 'works' || result === 'unknown') session.save(database);
  if (result === 'works') markWorking(database, { profile, source, at });
  else if (result !== 'unknown') markExpired(database, { profile, source, reason: result, at });
}

/**
 * Withholds what a retrieval with a login brought, in the transaction that records it. The same bytes are withheld once for
 * a source: what the owner has shown since stays shown.
 */
function withholdFromBirth(
  database: WriteDatabase,
  { retrieval, sha256, source, at }: { retrieval: number; sha256: string | null; source: number; at: string },
): void {
  if (sha256 === null || wasWithheldForLogin(database, { sha256, source })) return;
  withholdNow(database, { retrieval, reason: 'login' }, at);
}

/**
 * Withholds a page that was drawn with a login, after it was inserted, in the same transaction: what it showed, what it was
 * answered and what its scripts have sent. It is withheld for itself, also if its document is: the owner may show a document
 * that says nothing, such as that of an application, and not what the login fills it with. What the owner has shown of a page
 * stays shown if it comes again.
 */
export function withholdPage(database: WriteDatabase, { page, at }: { page: string; at: string }): void {
  if (openPartsOfPage(database, { page }).some(({ is_output }) => is_output === 1))
    withholdNow(database, { page, reason: 'login' }, at);
  // It covers nearly all of its parts, too.
  for (const { sha256 } of openPartsOfPage(database, { page }))
    withholdNow(database, { sha256, reason: 'login' }, at);
}
