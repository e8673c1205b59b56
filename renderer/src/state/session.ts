import { create } from 'zustand';
import type { Session } from '../../../shared/routes/manage.ts';
import { call } from '../api/client.ts';

interface SessionState {
  /** Undefined until the node has answered for the first time. */
  session: Session | undefined;
  error: unknown;
  load: () => Promise<void>;
}

/** Who is looking, as the node sees it. */
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

/** Whether this page may offer what only the owner may do. False until the node has said so. */
export function useIsOwner(): boolean {
  return useSession((state) => state.session?.owner ?? false);
}

/** Whether this page may offer packs, comments, flags and studies: the owner, or a visitor where contributions are open. */
export function useMayContribute(): boolean {
  return useSession((state) => state.session?.may_contribute ?? false);
}

/** Whether contributions are open here to those who were invited, and this browser has shown no invitation yet. */
export function useNeedsInvitation(): boolean {
  return useSession(({ session }) => session?.sharing === 'contribute' && !session.may_contribute);
}
