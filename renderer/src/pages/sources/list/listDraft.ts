import { create } from 'zustand';
import { createJSONStorage, persist } from 'zustand/middleware';
import type { ListForm } from '../../../../../shared/sourceList.ts';

/** A list of more characters than this is kept in this page only: the browser's storage has little room. */
const MAX_KEPT = 500_000;

interface ListDraft {
  text: string;
  /** Of the file that the text was read from. */
  fileName: string;
  /** The form that was chosen by hand, or null for the one that is recognised. */
  form: ListForm | null;
  change: (change: Partial<Pick<ListDraft, 'text' | 'fileName' | 'form'>>) => void;
  clear: () => void;
}

const EMPTY = { text: '', fileName: '', form: null };

/** The list that is being added, kept as it is typed until all of it is taken. */
export const useListDraft = create<ListDraft>()(
  persist(
    (set) => ({
      ...EMPTY,
      change: (change) => set(change),
      clear: () => set(EMPTY),
    }),
    {
      name: 'strongroom-source-list',
      storage: createJSONStorage(() => sessionStorage),
      partialize: ({ text, fileName, form }) =>
        text.length <= MAX_KEPT ? { text, fileName, form } : { ...EMPTY },
    },
  ),
);
