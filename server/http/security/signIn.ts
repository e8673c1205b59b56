import { type Request, type RequestHandler, type Response, Router } from 'express';
import { Problem } from '../../../shared/problems.ts';
import { browserName, SESSION_MS } from '../../owner/sessions.ts';
import type { Invitations } from '../../owner/sharing.ts';
import { readBytes, requireMediaType } from '../body/readJson.ts';
import { bodyChunks } from '../body/requestBody.ts';
import { acceptsHtml, interfaceMissing } from '../delivery/renderer.ts';
import { cookieOf, invitationCookie, invitationNotValid, type Secrets } from './access.ts';
import type { PublicAddress } from './publicAddress.ts';

/**
 * Handles the owner's one-time sign-in link. It uses up the code, sets a session cookie that scripts cannot read, and
 * redirects to the web interface. A used code is worthless, so it may stay in the browser's history.
 */
export function signIn(secrets: Secrets, hasInterface: () => boolean): RequestHandler {
  const { keys, sessions, cookieName } = secrets;
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/sign-in/:code', async (request, response) => {
    // Without the interface the redirect leads nowhere. Programs only need the session.
    if (acceptsHtml(request) && !hasInterface())
      throw interfaceMissing('Then open this link again. It is still valid.');
    // Link previews send HEAD, which must not use up the code.
    if (request.method !== 'GET' || !keys.spendSignInCode(request.params.code)) {
      throw new Problem(
        'sign_in_refused',
        'This sign-in link was already used, or is not from this node. Restart the node or run “strongroom sign-in” to get a new one.',
      );
    }
    const label = browserName(request.headers['user-agent']);
    const secret = await sessions.begin(label, cookieOf(request, cookieName));
    setCookie(secrets, secret, request, response);
    response.set('Cache-Control', 'no-store').redirect(303, '/');
  });
  return router;
}

/** Records the use of a session, and extends the lifetime of its cookie. */
export function renewSession(secrets: Secrets, secret: string, request: Request, response: Response): void {
  secrets.sessions.note(secret);
  setCookie(secrets, secret, request, response);
}

function setCookie(
  { cookieName, publicAddress }: Secrets,
  secret: string,
  request: Request,
  response: Response,
): void {
  response.cookie(cookieName, secret, {
    httpOnly: true,
    sameSite: 'strict',
    path: '/',
    secure: publicAddress.isSecure(request),
    maxAge: SESSION_MS,
  });
}

/** The form contains one token. */
const MAX_FORM_BYTES = 4096;
/** The lifetime of the cookie. Revoking the invitation ends it earlier. */
const MAX_AGE_MS = 365 * 24 * 3_600_000;

/**
 * Stores the invitation token that a visitor entered in a form. It is kept in a cookie that scripts in the page cannot
 * read. Other clients send it as a Bearer token.
 */
export function acceptInvitation(
  invitations: Invitations,
  cookieName: string,
  publicAddress: PublicAddress,
): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true });
  router.post('/invitation', async (request, response) => {
    requireMediaType(request, ['application/x-www-form-urlencoded']);
    const form = new URLSearchParams((await readBytes(bodyChunks(request), MAX_FORM_BYTES)).toString());
    const token = form.get('token')?.trim() ?? '';
    if (invitations.idOf(token) === undefined) throw invitationNotValid();
    response.cookie(invitationCookie(cookieName), token, {
      httpOnly: true,
      sameSite: 'strict',
      secure: publicAddress.isSecure(request),
      path: '/',
      maxAge: MAX_AGE_MS,
    });
    response.set('Cache-Control', 'no-store').status(204).end();
  });
  return router;
}
