import { create } from 'zustand';
import type { Session } from '../../../shared/routes/node/manage.ts';
import { call, enterInvitation } from '../api/client.ts';

interface SessionState {
  /** Undefined until the node has responded for the first time. */
  session: Session | undefined;
  error: unknown;
  load: () => Promise<void>;
}

/** The role of the current visitor, according to the node. */
export const useSession = create<SessionState>()((set) => ({
  session: undefined,
  error: undefined,
  load: async () => {
    try {
      set({ session: await call('readSession'), error: undefined });
    } catch (error) {
      set({ error });
    }
  },
}));

/** The role of the visitor, loaded if it is not known yet. @throws if the node does not answer */
export async function readSession(): Promise<Session> {
  if (!useSession.getState().session) await useSession.getState().load();
  const { session, error } = useSession.getState();
  if (!session) throw error;
  return session;
}

/** Whether to offer the owner's actions. False until the node has responded. */
export function useIsOwner(): boolean {
  return useSession((state) => state.session?.owner ?? false);
}

/**
 * Whether to offer publishing, comments, flags and studies: to the owner, or to a visitor if contributions
 * are open.
 */
export function useMayContribute(): boolean {
  return useSession((state) => state.session?.may_contribute ?? false);
}

/** Whether contributions are limited to invited visitors and this browser has no invitation yet. */
export function useNeedsInvitation(): boolean {
  return useSession(({ session }) => session?.sharing === 'contribute' && !session.may_contribute);
}

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
