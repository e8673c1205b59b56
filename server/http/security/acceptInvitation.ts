import { type RequestHandler, Router } from 'express';
import type { Invitations } from '../../owner/invitations.ts';
import { readBytes, requireMediaType } from '../body/readJson.ts';
import { chunksOf } from '../body/requestBody.ts';
import { invitationCookie, invitationRequired } from './access.ts';
import type { PublicAddress } from './publicAddress.ts';

/** A form with one token. */
const MAX_FORM_BYTES = 4096;
/** A browser stays invited this long, or until the invitation is revoked. */
const MAX_AGE_MS = 365 * 24 * 3_600_000;

/**
 * Makes a browser an invited one: takes the token that a visitor typed into a form, and keeps it in a cookie that no
 * script can read, so that the interface never has to hold it. Scripts send the token itself, as a Bearer token.
 */
export function acceptInvitation(
  invitations: Invitations,
  cookieName: string,
  publicAddress: PublicAddress,
): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true });
  router.post('/invitation', async (request, response) => {
    requireMediaType(request, ['application/x-www-form-urlencoded']);
    const form = new URLSearchParams((await readBytes(chunksOf(request), MAX_FORM_BYTES)).toString());
    const token = form.get('token')?.trim() ?? '';
    if (invitations.idOf(token) === undefined) throw invitationRequired();
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
