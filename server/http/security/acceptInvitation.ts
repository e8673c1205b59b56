import { type RequestHandler, Router } from 'express';
import type { Invitations } from '../../owner/invitations.ts';
import { readBytes, requireMediaType } from '../body/readJson.ts';
import { bodyChunks } from '../body/requestBody.ts';
import { invitationCookie, invitationNotValid } from './access.ts';
import type { PublicAddress } from './publicAddress.ts';

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
