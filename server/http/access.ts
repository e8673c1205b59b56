import type { Request, RequestHandler } from 'express';
import { INVITATION_TOKEN_PREFIX } from '../../shared/invitation.ts';
import { Problem } from '../../shared/problems.ts';
import type { Access } from '../../shared/routes/route.ts';
import type { Sharing } from '../../shared/settings.ts';
import type { Invitations } from '../owner/invitations.ts';
import type { OwnerKeys } from '../owner/ownerKeys.ts';

/** Who is asking: the owner, by token or session, or a visitor; and from where. */
export interface Visitor {
  owner: boolean;
  loopback: boolean;
  /** The peer's address as the socket has it; no header can set it. */
  address: string;
  /** The secret of the browser's session, where it has one. */
  session: string | undefined;
  /** The id of the invitation whose token was sent. It opens contributions and nothing else. */
  invitation: string | undefined;
  /** Whether a token was sent that is neither the owner's nor looks like an invitation's. */
  wrongToken: boolean;
}

/** The cookie is named by the node, because cookies of one host are shared by all its ports. */
export function sessionCookie(nodeName: string): string {
  return `strongroom-${nodeName.replace(/[^a-z0-9]/gi, '')}`;
}

/** Where a browser keeps the token of the invitation that was entered in it. */
export function invitationCookie(cookieName: string): string {
  return `${cookieName}-invitation`;
}

/** What secrets are known by: the owner's, and those of invitations. */
export interface Secrets {
  keys: OwnerKeys;
  invitations: Invitations;
  cookieName: string;
}

/** Who is asking. Nothing is refused here: what a wrong token may still do depends on what is asked for. */
export function identify(request: Request, { keys, invitations, cookieName }: Secrets): Visitor {
  const { address, loopback } = peerOf(request);
  const session = cookieOf(request, cookieName);
  const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  const owner =
    bearer === undefined ? session !== undefined && keys.isSession(session) : keys.isToken(bearer);
  const shown = bearer ?? cookieOf(request, invitationCookie(cookieName));
  const invitation = owner || shown === undefined ? undefined : invitations.idOf(shown);
  const wrongToken = !owner && bearer !== undefined && !bearer.startsWith(INVITATION_TOKEN_PREFIX);
  return { owner, loopback, address, session, invitation, wrongToken };
}

/** Where a request comes from, as the socket has it. */
export function peerOf(request: Request): { address: string; loopback: boolean } {
  const address = (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  return { address, loopback: address === '::1' || address.startsWith('127.') };
}

function cookieOf(request: Request, name: string): string | undefined {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = pair.split('=', 2);
    if (key?.trim() === name) return value?.trim();
  }
  return undefined;
}

/** Whether this visitor may contribute as the node is shared now. */
export function mayContribute(visitor: Visitor, { mode, require_invitation }: Sharing): boolean {
  if (visitor.owner) return true;
  return mode === 'contribute' && (!require_invitation || visitor.invitation !== undefined);
}

/**
 * @throws Problem by section 4 of the contract: `not_shared` for a visitor where visitors may not, `owner_required`
 * where credentials are needed or wrong (guessing must not look like visiting), `invitation_required`.
 */
export function authorize(access: Access, visitor: Visitor, sharing: Sharing): void {
  if (access === 'open' || visitor.owner) return;
  if (!visitor.loopback && sharing.mode === 'off') throw notShared('The owner does not share this node.');
  const wantsInvitation = access === 'contribute' && sharing.mode === 'contribute';
  if (wantsInvitation && !mayContribute(visitor, sharing)) throw invitationRequired();
  if (visitor.wrongToken) throw ownerRequired('This token is not the owner’s.');
  if (access === 'read' || wantsInvitation) return;
  if (visitor.loopback)
    throw ownerRequired('Sign in as the owner, or send the owner’s token as a Bearer token.');
  throw notShared(
    access === 'owner'
      ? 'Only the owner may do this.'
      : 'The owner shares this node for reading, not for contributions.',
  );
}

export function invitationRequired(): Problem {
  return new Problem(
    'invitation_required',
    'Contributing here needs an invitation that was not revoked, its token sent as a Bearer token. The owner gives them out.',
    { headers: CHALLENGE },
  );
}

const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="Strongroom"' };

function ownerRequired(detail: string): Problem {
  return new Problem('owner_required', detail, { headers: CHALLENGE });
}

function notShared(detail: string): Problem {
  return new Problem('not_shared', detail);
}

/**
 * While the node is not shared, nobody on the network is told more than that it is up: not what pages or addresses it
 * has either. The owner's own sign-in link is what makes a browser elsewhere the owner's.
 */
export function guardNetwork(sharing: () => Sharing, secrets: Secrets): RequestHandler {
  return (request, _response, next) => {
    const isOpen = request.path === '/api/health' || request.path.startsWith('/sign-in/');
    if (sharing().mode === 'off' && !isOpen && !peerOf(request).loopback) {
      if (!identify(request, secrets).owner) throw notShared('The owner does not share this node.');
    }
    next();
  };
}

/** A request that the browser marks as coming from another site's page. */
function isFromOtherSite(request: Request): boolean {
  const site = request.headers['sec-fetch-site'];
  return site === 'cross-site' || site === 'same-site';
}

/**
 * While the node is not shared, no page of another site may look into it; the empty shell of the interface alone may
 * be opened by following a link. While it is shared, reading is open to pages everywhere, without credentials.
 */
export function guardOtherSites(sharing: () => Sharing): RequestHandler {
  return (request, response, next) => {
    const isData = /^\/(api|archive|manage)(\/|$)/.test(request.path);
    if (sharing().mode !== 'off') {
      const isRead = request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS';
      if (isRead && isData && !request.path.startsWith('/manage')) allowOtherOrigins(response);
      return next();
    }
    response.set('Cross-Origin-Resource-Policy', 'same-origin');
    const opensShell =
      !isData && request.method === 'GET' && request.headers['sec-fetch-mode'] === 'navigate';
    if (isFromOtherSite(request) && !opensShell) {
      throw notShared('This node is private: a page of another site may not look into it.');
    }
    next();
  };
}

function allowOtherOrigins(response: { set(headers: Record<string, string>): unknown }): void {
  response.set({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
    'Access-Control-Allow-Headers': 'Accept, Range, If-None-Match, If-Range, Last-Event-ID',
    'Access-Control-Expose-Headers':
      'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Repr-Digest, Location, Retry-After',
    'Access-Control-Max-Age': '86400',
    'Cross-Origin-Resource-Policy': 'cross-origin',
  });
}
