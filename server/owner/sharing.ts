import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import { type CreatedInvitation, INVITATION_TOKEN_PREFIX, type Invitation } from '../../shared/node/owner.ts';
import type { Sharing, SharingChange } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { SettingsStore } from '../store/settings.ts';
import {
  insertInvitation,
  invitationById,
  invitationByToken,
  invitationCount,
  invitations,
  removeInvitation,
} from '../store/sqlite/node/owner.ts';
import type { Store } from '../store/store.ts';

/** Opens and closes the node to the network. */
export interface NetworkAccess {
  /** @throws Problem if the node cannot listen on the network; nothing was opened then */
  share(): Promise<void>;
  /** Listens on the addresses that are available now, and on the others once they are. */
  resume(): Promise<void>;
  unshare(): Promise<void>;
}

/**
 * Stores the sharing setting and applies it. Changes run one after another. The network is opened before the setting says
 * so, and the setting is off before the network is closed.
 */
export class SharingSwitch {
  readonly #settings: SettingsStore;
  readonly #access: NetworkAccess;
  readonly #oneAtATime = pLimit(1);

  constructor(settings: SettingsStore, access: NetworkAccess) {
    this.#settings = settings;
    this.#access = access;
  }

  get current(): Sharing {
    return this.#settings.sharing;
  }

  /** @throws Problem if the node cannot listen on the network; nothing was changed then */
  set({ mode, require_invitation }: SharingChange): Promise<Sharing> {
    return this.#oneAtATime(async () => {
      const before = this.#settings.sharing;
      const wasOff = before.mode === 'off';
      const startsContributions = mode === 'contribute' && before.mode !== 'contribute';
      const next = {
        mode,
        require_invitation: require_invitation ?? (startsContributions || before.require_invitation),
      };
      if (next.mode === 'off') {
        await this.#settings.setSharing(next);
        await this.#access.unshare();
        return next;
      }
      if (wasOff) await this.#access.share();
      try {
        return await this.#settings.setSharing(next);
      } catch (error) {
        if (wasOff) await this.#access.unshare();
        throw error;
      }
    });
  }

  /** Applies the stored setting at the start of the node. */
  async resume(): Promise<void> {
    if (this.#settings.sharing.mode !== 'off') await this.#access.resume();
  }
}

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
