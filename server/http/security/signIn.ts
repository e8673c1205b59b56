import { type Request, type RequestHandler, type Response, Router } from 'express';
import { Problem } from '../../../shared/problems.ts';
import { browserName } from '../../owner/browserName.ts';
import { SESSION_MS } from '../../owner/sessions.ts';
import { acceptsHtml, interfaceMissing } from '../delivery/renderer.ts';
import { cookieOf, type Secrets } from './access.ts';

/**
 * The one-time link of the owner: spends its code, gives the browser a session that no script can read, and goes on to
 * the interface. The code is worthless once the link was followed, so it may stay in a history.
 */
export function signIn(secrets: Secrets, hasInterface: () => boolean): RequestHandler {
  const { keys, sessions, cookieName } = secrets;
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/sign-in/:code', async (request, response) => {
    // A person would have nothing to go on to. A program, which asks for no page, wants the session alone.
    if (acceptsHtml(request) && !hasInterface())
      throw interfaceMissing('Then open this link again: it is not used up.');
    // A HEAD, as link previews send it, must not spend the code.
    if (request.method !== 'GET' || !keys.spendSignInCode(request.params.code)) {
      throw new Problem(
        'sign_in_refused',
        'This sign-in link was used already or is not this node’s. Start the node again, or run “strongroom sign-in”, for a new one.',
      );
    }
    const label = browserName(request.headers['user-agent']);
    const secret = await sessions.begin(label, cookieOf(request, cookieName));
    setCookie(secrets, secret, request, response);
    response.set('Cache-Control', 'no-store').redirect(303, '/');
  });
  return router;
}

/** Notes that a session is used, and lets its cookie live as long from now on as the session itself. */
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
