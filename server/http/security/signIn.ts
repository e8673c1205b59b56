import { type Request, type RequestHandler, type Response, Router } from 'express';
import { Problem } from '../../../shared/problems.ts';
import { browserName } from '../../owner/browserName.ts';
import { SESSION_MS } from '../../owner/sessions.ts';
import { acceptsHtml, interfaceMissing } from '../delivery/renderer.ts';
import { cookieOf, type Secrets } from './access.ts';

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
