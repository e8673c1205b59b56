import { create } from 'zustand';
import { createJSONStorage, persist } from 'zustand/middleware';

export interface KeptDraft<Draft> {
  draft: Draft;
  change: (change: Partial<Draft>) => void;
  clear: () => void;
  /** Empties the form, unless it has been edited since. */
  discard: (draft: Draft) => void;
}

/**
 * A store of a form that is saved as it is typed, until its window is closed.
 *
 * @param keptOf what of it is saved: no secrets, and no files
 */
export function createKeptDraft<Draft extends object>(
  name: string,
  empty: Draft,
  keptOf: (draft: Draft) => Draft,
) {
  return create<KeptDraft<Draft>>()(
    persist(
      (set) => ({
        draft: empty,
        change: (change) => set(({ draft }) => ({ draft: { ...draft, ...change } })),
        clear: () => set({ draft: empty }),
        discard: (draft) => set((state) => (state.draft === draft ? { draft: empty } : state)),
      }),
      {
        name,
        storage: createJSONStorage(() => sessionStorage),
        partialize: ({ draft }) => ({ draft: keptOf(draft) }),
        // A draft of an earlier version lacks the newer fields.
        merge: (kept, current) => ({
          ...current,
          draft: { ...empty, ...(kept as { draft?: Draft } | undefined)?.draft },
        }),
      },
    ),
  );
}
