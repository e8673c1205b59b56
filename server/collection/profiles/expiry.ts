import type { ExpiryReason } from '../../../shared/collection/profile.ts';
import { Problem } from '../../../shared/problems.ts';
import { startOfBlob } from '../../store/blobs/offloadedBlobs.ts';
import type { Store } from '../../store/store.ts';

/*
 * Whether a site still accepts a login is said by nothing in HTTP alone. These rules are narrow: a page is taken for a login
 * page if it stands where the site redirects to, or if it asks for a password where it did not before.
 */

/** What is known of an answer to a source that is watched with a login. */
export interface AnswerToJudge {
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
