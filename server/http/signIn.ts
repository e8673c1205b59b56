import { type RequestHandler, Router } from 'express';
import { Problem } from '../../shared/problems.ts';
import type { OwnerKeys } from '../owner/ownerKeys.ts';
import { interfaceMissing, wantsPage } from './renderer.ts';

/** A browser stays signed in this long; the session can be ended from the interface at any time. */
const SESSION_MAX_AGE_MS = 365 * 24 * 3_600_000;

/**
 * The one-time link of the owner: spends its code, gives the browser a session that no script can read, and goes on to
 * the interface. The code is worthless once the link was followed, so it may stay in a history.
 */
export function signIn(keys: OwnerKeys, cookieName: string, hasInterface: () => boolean): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true });
  router.get('/sign-in/:code', async (request, response) => {
    // A person would have nothing to go on to. A program, which asks for no page, wants the session alone.
    if (wantsPage(request) && !hasInterface())
      throw interfaceMissing('Then open this link again: it is not used up.');
    // A HEAD, as link previews send it, must not spend the code.
    const secret = request.method === 'GET' ? await keys.spendSignInCode(request.params.code) : undefined;
    if (secret === undefined) {
      throw new Problem(
        'sign_in_refused',
        'This sign-in link was used already or is not this node’s. Start the node again, or run “strongroom sign-in”, for a new one.',
      );
    }
    response.cookie(cookieName, secret, {
      httpOnly: true,
      sameSite: 'strict',
      path: '/',
      maxAge: SESSION_MAX_AGE_MS,
    });
    response.set('Cache-Control', 'no-store').redirect(303, '/');
  });
  return router;
}
