import type { IncomingMessage } from 'node:http';
import { INVITATION_TOKEN_PREFIX } from '../../../shared/invitation.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Access } from '../../../shared/routes/route.ts';
import type { Sharing } from '../../../shared/settings.ts';
import type { Invitations } from '../../owner/invitations.ts';
import type { OwnerKeys } from '../../owner/ownerKeys.ts';
import type { OwnerSessions } from '../../owner/sessions.ts';
import type { PublicAddress } from './publicAddress.ts';

/** Who is asking: the owner, by token or session, or a visitor; and from where. */
export interface Visitor {
  owner: boolean;
  /** Whether a program on this machine asks for itself. It opens reading while the node is not shared, nothing else. */
  loopback: boolean;
  /** The peer's address as the socket has it; through a proxy that is believed, whom it asks for. */
  address: string;
  /** The secret of the browser's session, where it has one. */
  session: string | undefined;
  /** Whether that session made it the owner, and its use is to be noted again. */
  sessionNeedsUseUpdate?: boolean;
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

/** What secrets are known by, the owner's and those of invitations; and what tells where a request comes from. */
export interface Secrets {
  keys: OwnerKeys;
  sessions: OwnerSessions;
  invitations: Invitations;
  cookieName: string;
  publicAddress: PublicAddress;
}

/** Who is asking. Nothing is refused here: what a wrong token may still do depends on what is asked for. */
export function identify(request: IncomingMessage, secrets: Secrets): Visitor {
  const { keys, sessions, invitations, cookieName } = secrets;
  const { address, loopback } = secrets.publicAddress.peerOf(request);
  const session = cookieOf(request, cookieName);
  const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  const held = bearer === undefined && session !== undefined ? sessions.find(session) : undefined;
  const owner = bearer === undefined ? held !== undefined : keys.isToken(bearer);
  const shown = bearer ?? cookieOf(request, invitationCookie(cookieName));
  const invitation = owner || shown === undefined ? undefined : invitations.idOf(shown);
  const wrongToken = !owner && bearer !== undefined && !bearer.startsWith(INVITATION_TOKEN_PREFIX);
  const sessionNeedsUseUpdate = held?.needsUseUpdate ?? false;
  return { owner, loopback, address, session, sessionNeedsUseUpdate, invitation, wrongToken };
}

export function cookieOf(request: IncomingMessage, name: string): string | undefined {
  const { cookie } = request.headers;
  if (cookie === undefined) return undefined;
  for (const pair of cookie.split(';')) {
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

export function notShared(detail: string): Problem {
  return new Problem('not_shared', detail);
}
