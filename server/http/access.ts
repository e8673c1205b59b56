import type { Request, RequestHandler } from 'express';
import { Problem } from '../../shared/problems.ts';
import type { Access } from '../../shared/routes/route.ts';
import type { Sharing } from '../../shared/settings.ts';
import type { OwnerKeys } from '../owner/ownerKeys.ts';

/** Who is asking: the owner, by token or session, or a visitor; and from where. */
export interface Visitor {
  owner: boolean;
  loopback: boolean;
  /** The peer's address as the socket has it; no header can set it. */
  address: string;
  /** The secret of the browser's session, where it has one. */
  session: string | undefined;
}

/** The cookie is named by the node, because cookies of one host are shared by all its ports. */
export function sessionCookie(nodeName: string): string {
  return `strongroom-${nodeName.replace(/[^a-z0-9]/gi, '')}`;
}

/** @throws Problem `owner_required` where a token was given and is wrong: guessing must not look like visiting. */
export function identify(request: Request, keys: OwnerKeys, cookieName: string): Visitor {
  const address = (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  const loopback = address === '::1' || address.startsWith('127.');
  const session = cookieOf(request, cookieName);
  const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  if (bearer !== undefined && !keys.isToken(bearer)) throw ownerRequired('This token is not the owner’s.');
  const owner = bearer !== undefined || (session !== undefined && keys.isSession(session));
  return { owner, loopback, address, session };
}

function cookieOf(request: Request, name: string): string | undefined {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = pair.split('=', 2);
    if (key?.trim() === name) return value?.trim();
  }
  return undefined;
}

/** Whether visitors may contribute at all as the node is shared now. */
export function mayContribute(visitor: Visitor, sharing: Sharing): boolean {
  return visitor.owner || sharing.mode === 'contribute';
}

/** @throws Problem `owner_required` or `not_shared` by section 4 of the contract. */
export function authorize(access: Access, visitor: Visitor, sharing: Sharing): void {
  if (access === 'open' || visitor.owner) return;
  if (!visitor.loopback && sharing.mode === 'off') throw notShared('The owner does not share this node.');
  if (access === 'read') return;
  if (access === 'contribute' && sharing.mode === 'contribute') return;
  if (visitor.loopback)
    throw ownerRequired('Sign in as the owner, or send the owner’s token as a Bearer token.');
  throw notShared(
    access === 'owner'
      ? 'Only the owner may do this.'
      : 'The owner shares this node for reading, not for contributions.',
  );
}

function ownerRequired(detail: string): Problem {
  return new Problem('owner_required', detail, {
    headers: { 'WWW-Authenticate': 'Bearer realm="Strongroom"' },
  });
}

function notShared(detail: string): Problem {
  return new Problem('not_shared', detail);
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
