import { create } from 'zustand';
import { enterInvitation } from '../api/enterInvitation.ts';
import { useSession } from './session.ts';

/** The page that an invitation link opens. */
const PAGE = '/sharing';

/** The link that carries an invitation. The token is in the fragment, which browsers send to no server. */
export function invitationLink(origin: string, token: string): string {
  return `${origin}${PAGE}#${token}`;
}

/** The token in a fragment, as the link carries it. Undefined if there is none. */
export function invitationInFragment(hash: string): string | undefined {
  return /^#(invitation-\S+)$/.exec(hash)?.[1];
}

/** The token in what a person pasted: a token or a whole link. */
export function invitationInText(text: string): string {
  return /invitation-[0-9a-f]+/.exec(text)?.[0] ?? text.trim();
}

interface InvitationLinkState {
  state: 'none' | 'sending' | 'accepted' | 'failed';
  error: unknown;
  /** Exchanges the token for a cookie that scripts cannot read. Never rejects: the outcome is in `state`. */
  accept: (token: string) => Promise<void>;
  clear: () => void;
}

/** The invitation link that this page was opened with. The token itself is not kept. */
export const useInvitationLink = create<InvitationLinkState>()((set) => ({
  state: 'none',
  error: undefined,
  clear: () => set({ state: 'none', error: undefined }),
  accept: async (token) => {
    set({ state: 'sending', error: undefined });
    try {
      await enterInvitation(token);
      await useSession.getState().load();
      set({ state: 'accepted' });
    } catch (error) {
      set({ state: 'failed', error });
    }
  },
}));
