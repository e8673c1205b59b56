import type { ExpiryReason } from '../../../shared/collection/profile.ts';
import {
  markExpired,
  markWorking,
  uncoveredOfPage,
  wasShownForLogin,
  wasWithheldForLogin,
} from '../../store/sqlite/collection/profiles.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { isReleased, isWithheld } from '../../store/sqlite/node/withheld.ts';
import { withholdNow } from '../../withholding/withholding.ts';
import type { ProfileSession } from './session.ts';

/** What a check, or a drawn page, showed of a login. `unknown`: there was no answer that says it. */
export type LoginResult = 'works' | 'unknown' | ExpiryReason;

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
export function withholdFromBirth(
  database: WriteDatabase,
  { retrieval, sha256, source, at }: { retrieval: number; sha256: string | null; source: number; at: string },
): void {
  if (sha256 === null || wasWithheldForLogin(database, { sha256, source })) return;
  withholdNow(database, { retrieval, reason: 'login' }, at);
}

/**
 * Withholds a page that was drawn with a login, after it was inserted, in the same transaction: what it showed, what it was
 * answered and what its scripts have sent. Most of it is withheld with the document already. What the owner has shown stays
 * shown if it comes again.
 */
export function withholdPage(
  database: WriteDatabase,
  { page, sent, at }: { page: string; sent: readonly string[]; at: string },
): void {
  const uncovered = uncoveredOfPage(database, { page });
  // It covers the parts, too.
  if (uncovered.some(({ is_output }) => is_output === 1))
    withholdNow(database, { page, reason: 'login' }, at);
  const isOpen = (sha256: string) =>
    !isWithheld(database, sha256) && !isReleased(database, sha256) && !wasShownForLogin(database, sha256);
  for (const sha256 of [...uncovered.map((part) => part.sha256), ...sent])
    if (isOpen(sha256)) withholdNow(database, { sha256, reason: 'login' }, at);
}
