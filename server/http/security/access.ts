import type { IncomingMessage } from 'node:http';
import { INVITATION_TOKEN_PREFIX } from '../../../shared/node/owner.ts';
import type { PairedBrowser } from '../../../shared/node/pairing.ts';
import { RUN_TOKEN_PREFIX } from '../../../shared/node/session.ts';
import type { Sharing } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Access } from '../../../shared/routes/route.ts';
import type { Pairings } from '../../owner/pairing.ts';
import { type OwnerKeys, type OwnerSessions, sameSecret } from '../../owner/sessions.ts';
import type { Invitations } from '../../owner/sharing.ts';
import type { PublicAddress } from './addresses.ts';
import { ticketOf } from './ticket.ts';
import { isOverPlainNetwork, type TlsAddress } from './tlsSwitch.ts';

/** The client of a request: the owner, identified by token or session, or a visitor. */
export interface Visitor {
  owner: boolean;
  /** Whether the client runs on this machine, not behind a proxy. Such clients may read while the node is not shared. */
  loopback: boolean;
  /** The client's IP address, from the socket or from a trusted proxy. */
  address: string;
  /** The id of the session with which the owner sent the request. */
  session: string | undefined;
  /** Whether the last use of that session must be recorded again. */
  sessionNeedsUseUpdate?: boolean;
  /** The id of the invitation whose token was sent. It only allows contributions. */
  invitation: string | undefined;
  /** Whether an invitation token was sent that is wrong or revoked. */
  wrongInvitation?: boolean;
  /** The paired browser whose token was sent. It may use the routes for paired browsers and nothing else. */
  browser?: PairedBrowser | undefined;
  /** Whether a token was sent that is not the owner's and does not look like an invitation token. */
  wrongToken: boolean;
}

/** Returns the beginning of the names of the cookies. It contains the node's name, because all ports of a host share cookies. */
export function cookiePrefix(nodeName: string): string {
  return `strongroom-${nodeName.replace(/[^a-z0-9]/gi, '')}`;
}

/** Returns the name of the cookie with the invitation token. */
export function invitationCookie(cookieName: string): string {
  return `${cookieName}-invitation`;
}

/** Returns the name of a cookie at this address. Over HTTPS, browsers take it from this host alone (`__Host-`). */
export function cookieNameAt(request: IncomingMessage, name: string, publicAddress: PublicAddress): string {
  return publicAddress.isSecure(request) ? `__Host-${name}` : name;
}

/** Returns the name of the cookie that opens the program of the interface to the owner's browser on another machine. */
export function doorCookie(cookieName: string): string {
  return `${cookieName}-door`;
}

/** The services that identify a client by its secrets and its address. */
export interface Secrets {
  keys: OwnerKeys;
  sessions: OwnerSessions;
  invitations: Invitations;
  pairings: Pairings;
  cookieName: string;
  publicAddress: PublicAddress;
  /** Returns the HTTPS address of the node; undefined while TLS is off. */
  tls: () => TlsAddress;
}

/**
 * Identifies the client. It refuses nothing: whether a wrong token matters depends on the route.
 *
 * @param withCookies whether an invitation in a cookie counts
 */
export function identify(request: IncomingMessage, secrets: Secrets, { withCookies = true } = {}): Visitor {
  const { address, loopback } = secrets.publicAddress.peerOf(request);
  const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  const ticket = bearer === undefined ? ticketOf(request) : undefined;
  const session = ticket ? secrets.sessions.findByTicket(ticket) : sessionOf(bearer, secrets);
  const known = { address, loopback, session: session?.id };
  if (session || (bearer !== undefined && secrets.keys.isToken(bearer))) {
    const sessionNeedsUseUpdate = session?.needsUseUpdate ?? false;
    return { ...known, owner: true, sessionNeedsUseUpdate, invitation: undefined, wrongToken: false };
  }
  const browser = bearer === undefined ? undefined : secrets.pairings.find(bearer);
  const token = bearer ?? (withCookies ? invitationIn(request, secrets) : undefined);
  const isWrong = ticket !== undefined || bearer !== undefined;
  return { ...known, owner: false, browser, wrongToken: isWrong, ...invitationOf(token, secrets) };
}

/** What a token says of an invitation. One that is wrong or revoked is no wrong token: it does not keep from reading. */
function invitationOf(
  token: string | undefined,
  { invitations }: Secrets,
): Pick<Visitor, 'invitation'> & Partial<Pick<Visitor, 'wrongInvitation' | 'wrongToken'>> {
  if (!token?.startsWith(INVITATION_TOKEN_PREFIX)) return { invitation: undefined };
  const invitation = invitations.idOf(token);
  return { invitation, wrongInvitation: invitation === undefined, wrongToken: false };
}

function sessionOf(bearer: string | undefined, { sessions }: Secrets): ReturnType<OwnerSessions['find']> {
  return bearer?.startsWith(RUN_TOKEN_PREFIX) ? sessions.find(bearer) : undefined;
}

/** Returns the invitation in a cookie. Cookies do not count on a connection that everyone can read. */
function invitationIn(request: IncomingMessage, secrets: Secrets): string | undefined {
  const { cookieName, publicAddress, tls } = secrets;
  if (request.headers.cookie === undefined || isOverPlainNetwork(request, tls(), publicAddress))
    return undefined;
  const name = invitationCookie(cookieName);
  // Invitations from before the prefix stay valid.
  return cookieOf(request, cookieNameAt(request, name, publicAddress)) ?? cookieOf(request, name);
}

/** Whether a browser on another machine may get the program of the interface, which then proves its session. */
export function hasDoor(
  request: IncomingMessage,
  { keys, cookieName, tls, publicAddress }: Secrets,
): boolean {
  const sent = cookieOf(request, cookieNameAt(request, doorCookie(cookieName), publicAddress));
  return (
    sent !== undefined && sameSecret(sent, keys.door) && !isOverPlainNetwork(request, tls(), publicAddress)
  );
}

function cookieOf(request: IncomingMessage, name: string): string | undefined {
  const { cookie } = request.headers;
  if (cookie === undefined) return undefined;
  for (const pair of cookie.split(';')) {
    const [key, value] = pair.split('=', 2);
    if (key?.trim() === name) return value?.trim();
  }
  return undefined;
}

/** Returns whether this visitor may contribute in the current sharing mode. */
export function mayContribute(visitor: Visitor, { mode, require_invitation }: Sharing): boolean {
  if (visitor.owner) return true;
  return mode === 'contribute' && (!require_invitation || visitor.invitation !== undefined);
}

/** Returns whether `authorize` lets this visitor read in the current sharing mode. */
export function mayRead({ owner, loopback, wrongToken }: Visitor, { mode }: Sharing): boolean {
  return owner || (!wrongToken && (loopback || mode !== 'off'));
}

/**
 * Checks access by section 4 of the contract.
 *
 * @throws Problem `not_shared` if visitors have no access; `owner_required` if credentials are missing or wrong (a wrong
 * token is refused even if visitors have access); `invitation_required`.
 */
export function authorize(access: Access, visitor: Visitor, sharing: Sharing): void {
  if (access === 'open' || visitor.owner || (access === 'paired' && visitor.browser)) return;
  if (!visitor.loopback && sharing.mode === 'off') throw notShared('The owner does not share this node.');
  const wantsInvitation = access === 'contribute' && sharing.mode === 'contribute';
  if (wantsInvitation && !mayContribute(visitor, sharing))
    throw visitor.wrongInvitation ? invitationNotValid() : invitationRequired();
  if (visitor.browser) throw ownerRequired('A paired browser can only hand in and watch.');
  if (visitor.wrongToken) throw ownerRequired('This token is not the owner’s, or it was revoked.');
  if (access === 'read' || wantsInvitation) return;
  if (visitor.loopback)
    throw ownerRequired('Sign in as the owner, or send the owner’s token as a Bearer token.');
  throw notShared(
    access === 'owner' || access === 'paired'
      ? 'Only the owner may do this.'
      : 'The owner shares this node for reading, not for contributions.',
  );
}

function invitationRequired(): Problem {
  return new Problem(
    'invitation_required',
    'You need an invitation to contribute. Ask the owner for one. Programs send its token as a Bearer token.',
    { headers: CHALLENGE },
  );
}

export function invitationNotValid(): Problem {
  return new Problem(
    'invitation_required',
    'This invitation is not valid: it was revoked, or its token is incomplete. Ask the owner for a new one.',
    { headers: CHALLENGE },
  );
}

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="Strongroom"' };

function ownerRequired(detail: string): Problem {
  return new Problem('owner_required', detail, { headers: CHALLENGE });
}

export function notShared(detail: string): Problem {
  return new Problem('not_shared', detail);
}
