import { createHash } from 'node:crypto';
import {
  type CreatedInvitation,
  INVITATION_TOKEN_PREFIX,
  type Invitation,
} from '../../shared/node/invitation.ts';
import { Problem } from '../../shared/problems.ts';
import type { Slice } from '../../shared/values/list.ts';
import {
  insertInvitation,
  invitationById,
  invitationByToken,
  invitationCount,
  invitations,
  removeInvitation,
} from '../store/sqlite/node/invitations.ts';
import type { Store } from '../store/store.ts';

/** The invitations to contribute. Only digests of their tokens are stored. */
export interface Invitations {
  list(page: { limit: number; offset: number }): Slice<Invitation>;
  /** @throws Problem `not_found` */
  find(id: string): Invitation;
  /** Creates an invitation. Its token is only in the result and is not stored. */
  create(name: string): Promise<CreatedInvitation>;
  /** Revokes an invitation; its token is invalid from now on. @throws Problem `not_found` */
  revoke(id: string): Promise<void>;
  /** Returns the id of the invitation with this token, or undefined. */
  idOf(token: string): string | undefined;
}

export function openInvitations(store: Store): Invitations {
  return {
    list: (page) => ({ items: invitations(store.read, page), total: invitationCount(store.read) }),
    find: (id) => invitationById(store.read, id) ?? noSuchInvitation(),
    async create(name) {
      const id = `in_${store.randomHex(20)}`;
      const token = `${INVITATION_TOKEN_PREFIX}${store.randomHex(64)}`;
      const created_at = store.instant();
      await store.write((database) =>
        insertInvitation(database, { id, name, tokenSha256: digestOf(token), at: created_at }),
      );
      return { id, name, created_at, last_used_at: null, writes: 0, token };
    },
    async revoke(id) {
      if (!(await store.write((database) => removeInvitation(database, id)))) noSuchInvitation();
    },
    idOf: (token) =>
      token.startsWith(INVITATION_TOKEN_PREFIX)
        ? invitationByToken(store.read, digestOf(token))?.id
        : undefined,
  };
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function noSuchInvitation(): never {
  throw new Problem('not_found', 'There is no such invitation; it may have been revoked.');
}
