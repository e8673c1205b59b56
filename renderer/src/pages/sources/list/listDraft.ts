import { create } from 'zustand';
import { createJSONStorage, persist } from 'zustand/middleware';
import type { ListFormat } from '../../../../../shared/collection/sourceList.ts';

/** Longer lists are kept only while the page is open: sessionStorage has little space. */
const MAX_KEPT = 500_000;

interface ListDraft {
  text: string;
  /** The name of the file that the text was read from. */
  fileName: string;
  /** The format chosen by hand, or null for the detected one. */
  form: ListFormat | null;
  change: (change: Partial<Pick<ListDraft, 'text' | 'fileName' | 'form'>>) => void;
  clear: () => void;
}

const EMPTY = { text: '', fileName: '', form: null };

/** The list form, saved as it is typed until every entry is accepted. */
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
