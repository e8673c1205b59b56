import { create } from 'zustand';
import type { Session } from '../../../shared/routes/node/manage.ts';
import { call } from '../api/client.ts';

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
