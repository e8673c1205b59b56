import type { OwnerKeys } from '../../../owner/ownerKeys.ts';
import type { OwnerSessions } from '../../../owner/sessions.ts';
import type { SharingSwitch } from '../../../owner/sharing.ts';
import type { Handlers } from '../../app.ts';
import { noContent, ok, page } from '../../reply.ts';
import { mayContribute } from '../../security/access.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type SessionRoutes = 'readSession' | 'createSignInLink' | 'signOut' | 'listSessions' | 'endSession';

export interface SessionServices {
  keys: OwnerKeys;
  sessions: OwnerSessions;
  sharing: SharingSwitch;
  publicAddress: PublicAddress;
  nodeName: string;
  version: string;
}

/** Handlers for the sessions of the owner, and for what a visitor may do. */
export function sessionHandlers(services: SessionServices): Pick<Handlers, SessionRoutes> {
  const { keys, sessions, sharing, publicAddress, nodeName, version } = services;
  return {
    readSession: ({ visitor }) =>
      ok({
        owner: visitor.owner,
        may_contribute: mayContribute(visitor, sharing.current),
        node: nodeName,
        version,
        sharing: sharing.current.mode,
      }),
    createSignInLink: ({ request }) => {
      const path = `/sign-in/${keys.createSignInCode()}`;
      const { origin } = publicAddress;
      const url = publicAddress.originOf(request) + path;
      return { status: 201, json: { url, ...(origin && { public_url: origin + path }) } };
    },
    signOut: async ({ visitor }) => {
      if (visitor.session) await sessions.end(visitor.session);
      return noContent;
    },
    listSessions: ({ query, request, visitor }) =>
      page(request, query, sessions.list(query, visitor.session)),
    endSession: async ({ params }) => {
      await sessions.endById(params.id ?? '');
      return noContent;
    },
  };
}
