import { create } from 'zustand';
import { createJSONStorage, persist } from 'zustand/middleware';
import { EMPTY_DRAFT, type SourceDraft } from './sourceForm.ts';

interface NewSourceDraft {
  draft: SourceDraft;
  change: (change: Partial<SourceDraft>) => void;
  clear: () => void;
}

/**
 * The source form, saved as it is typed until the source is added. Headers may be secret and are not saved.
 */
export const useNewSourceDraft = create<NewSourceDraft>()(
  persist(
    (set) => ({
      draft: EMPTY_DRAFT,
      change: (change) => set((state) => ({ draft: { ...state.draft, ...change } })),
      clear: () => set({ draft: EMPTY_DRAFT }),
    }),
    {
      name: 'strongroom-new-source',
      // A draft of an earlier version lacks the newer fields.
      merge: (kept, current) => ({
        ...current,
        draft: { ...EMPTY_DRAFT, ...(kept as { draft?: SourceDraft } | undefined)?.draft },
      }),
      storage: createJSONStorage(() => sessionStorage),
      partialize: ({ draft }) => ({ draft: { ...draft, headers: '' } }),
    },
  ),
);
