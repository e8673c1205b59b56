import { z } from 'zod';
import { create } from 'zustand';
import { createJSONStorage, persist } from 'zustand/middleware';
import { mementoImportSchema, observerSchema } from '../../../../../shared/captures.ts';
import { MAX_CAPTURE_FILE_BYTES } from '../../../../../shared/limits.ts';
import { formatBytes } from '../../../format/size.ts';
import type { CapturesToImport } from './captureRun.ts';

/** What is typed into the form: text as it stands in the fields. */
export interface CaptureDraft {
  from: 'file' | 'timemap';
  observer: string;
  /** Kept while the page is open; a browser cannot keep it longer. */
  file: File | null;
  timemap: string;
  /** Days, `2026-11-20`, or empty. */
  since: string;
  until: string;
  /** A number, or empty for the node's own. */
  limit: string;
  ignoreRobots: boolean;
}

export type CaptureDraftErrors = Partial<Record<keyof CaptureDraft, string>>;

const EMPTY: CaptureDraft = {
  from: 'file',
  observer: '',
  file: null,
  timemap: '',
  since: '',
  until: '',
  limit: '',
  ignoreRobots: false,
};

interface CaptureDraftState {
  draft: CaptureDraft;
  change: (change: Partial<CaptureDraft>) => void;
  /** Empties the form, unless something else was typed into it since. */
  giveUp: (draft: CaptureDraft) => void;
}

/** The import that is being filled in, kept as it is typed until it was taken. */
export const useCaptureDraft = create<CaptureDraftState>()(
  persist(
    (set) => ({
      draft: EMPTY,
      change: (change) => set((state) => ({ draft: { ...state.draft, ...change } })),
      giveUp: (draft) => set((state) => (state.draft === draft ? { draft: EMPTY } : state)),
    }),
    {
      name: 'strongroom-captures',
      storage: createJSONStorage(() => sessionStorage),
      partialize: ({ draft }) => ({ draft: { ...draft, file: null } }),
    },
  ),
);

/** What is typed as an import, or what is wrong with it, by the node's own rules. */
export function importOf(draft: CaptureDraft): { value: CapturesToImport } | { errors: CaptureDraftErrors } {
  const observer = observerSchema.safeParse(draft.observer.trim());
  const errors: CaptureDraftErrors = observer.success
    ? {}
    : { observer: draft.observer.trim() === '' ? 'Say whose captures these are.' : wordsOf(observer.error) };
  if (draft.from === 'file') {
    const { file } = draft;
    if (!file) errors.file = 'Choose a WARC file, or drop it here.';
    else if (file.size > MAX_CAPTURE_FILE_BYTES)
      errors.file = `It has ${formatBytes(file.size)}; a file may have at most ${formatBytes(MAX_CAPTURE_FILE_BYTES)}.`;
    return file && observer.success && !errors.file
      ? { value: { observer: observer.data, file } }
      : { errors };
  }
  const timeMap = mementoImportSchema.safeParse({
    timemap: draft.timemap.trim(),
    ...(draft.since && { from: draft.since }),
    ...(draft.until && { to: draft.until }),
    ...(draft.limit && { limit: Number(draft.limit) }),
    ignore_robots: draft.ignoreRobots,
  });
  if (observer.success && timeMap.success) {
    return { value: { observer: observer.data, timeMap: timeMap.data } };
  }
  const fields = timeMap.success ? {} : z.flattenError(timeMap.error).fieldErrors;
  const found = {
    ...errors,
    timemap: fields.timemap?.[0],
    since: fields.from?.[0],
    until: fields.to?.[0],
    limit: fields.limit?.[0],
  };
  return { errors: found };
}

function wordsOf(error: z.ZodError): string {
  return error.issues[0]?.message ?? 'This is not taken.';
}
