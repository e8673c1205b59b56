import type { ExpiryReason } from '../../../shared/collection/profile.ts';
import { markExpired, markWorking, wasWithheldForLogin } from '../../store/sqlite/collection/profiles.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { isWithheld } from '../../store/sqlite/node/withheld.ts';
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
 * Withholds a page that was drawn with a login, after it was inserted, in the same transaction. It is withheld with its
 * document, unless the owner has shown that. What its scripts have sent is withheld, too.
 */
export function withholdPage(
  database: WriteDatabase,
  {
    page,
    outputs,
    sent,
    at,
  }: { page: string; outputs: readonly string[]; sent: readonly string[]; at: string },
): void {
  if (!outputs.every((sha256) => isWithheld(database, sha256)))
    withholdNow(database, { page, reason: 'login' }, at);
  for (const sha256 of sent)
    if (!isWithheld(database, sha256)) withholdNow(database, { sha256, reason: 'login' }, at);
}
