import type { ExpiryReason } from '../../../shared/collection/profile.ts';
import type { NewRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import type { SourceRow } from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import type { Attempt } from '../fetch/requester.ts';
import { beginningOf, expiryOf } from '../profiles/expiry.ts';
import { recordLogin, withholdFromBirth } from '../profiles/recordLogin.ts';
import type { ProfileSession } from '../profiles/session.ts';
import type { ReceivedObject } from '../record/objectReceiver.ts';

/** What the login of a source means for the record of an attempt. */
export interface LoginOfCheck {
  /** Returns the retrieval without what belongs to the login, and as failed if the login no longer works. */
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

const WITHHELD_REASON = 'It was judged by its content, which is withheld';

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
    asRecorded: ({ page_label, ...retrieval }) =>
      session.secrets.redacted({
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
