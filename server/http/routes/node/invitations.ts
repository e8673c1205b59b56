import { pathOf } from '../../../../shared/routes/pathOf.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import type { Invitations } from '../../../owner/invitations.ts';
import type { Handlers } from '../../app.ts';
import { created, noContent, ok, page } from '../../reply.ts';

type InvitationRoutes = 'listInvitations' | 'createInvitation' | 'readInvitation' | 'revokeInvitation';

export function invitationsHandlers(invitations: Invitations): Pick<Handlers, InvitationRoutes> {
  return {
    listInvitations: ({ query, request }) => page(request, query, invitations.list(query)),
    createInvitation: async ({ body }) => {
      const invitation = await invitations.create(body.name);
      return created(invitation, pathOf(ROUTES.readInvitation.path, { id: invitation.id }));
    },
    readInvitation: ({ params }) => ok(invitations.find(params.id ?? '')),
    revokeInvitation: async ({ params }) => {
      await invitations.revoke(params.id ?? '');
      return noContent;
    },
  };
}
