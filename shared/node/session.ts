/** The prefix of a run token: a page of the owner sends it as a Bearer token until the node stops. */
export const RUN_TOKEN_PREFIX = 'session-';

/** The name of the fragment with the code that a page exchanges, with its key, for a session. */
export const SIGN_IN_FRAGMENT = '#sign-in=';

/** The text that a page signs. The origin is that of the page, so that a signature is worth nothing to another address. */
export function signedText({ origin, challenge }: { origin: string; challenge: string }): string {
  return `strongroom session\n${origin}\n${challenge}`;
}

/**
 * A ticket makes one GET request the owner's, where a browser sends no header of a page: images, frames, downloads, event
 * streams. It is the last parameter of the address: the session, the time of its expiry, and the HMAC-SHA-256 of
 * `ticketText` with the ticket key of the session and the run.
 */
export const TICKET_PARAMETER = 'ticket';

/** No ticket is valid for longer. */
export const MAX_TICKET_MS = 2 * 3_600_000;

/** @param target the path and the query without the ticket */
export function ticketText(target: string, expires: number): string {
  return `${expires} ${target}`;
}
