import { z } from 'zod';
import { create } from 'zustand';
import { createJSONStorage, persist } from 'zustand/middleware';
import { mementoImportSchema, observerSchema } from '../../../../../shared/collection/captures.ts';
import { MAX_CAPTURE_FILE_BYTES } from '../../../../../shared/limits.ts';
import { formatBytes } from '../../../format/size.ts';
import type { CaptureDraft, CaptureImport } from './captureImport.ts';

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
  /** Empties the form, unless it has been edited since. */
  discard: (draft: CaptureDraft) => void;
}

/** The import form, saved as it is typed until the import succeeds. */
export const useCaptureDraft = create<CaptureDraftState>()(
  persist(
    (set) => ({
      draft: EMPTY,
      change: (change) => set((state) => ({ draft: { ...state.draft, ...change } })),
      discard: (draft) => set((state) => (state.draft === draft ? { draft: EMPTY } : state)),
    }),
    {
      name: 'strongroom-captures',
      storage: createJSONStorage(() => sessionStorage),
      partialize: ({ draft }) => ({ draft: { ...draft, file: null } }),
    },
  ),
);

/** Validates the form with the node's own rules. */
export function importOf(draft: CaptureDraft): { value: CaptureImport } | { errors: CaptureDraftErrors } {
  const observer = observerSchema.safeParse(draft.observer.trim());
  const errors: CaptureDraftErrors = observer.success
    ? {}
    : {
        observer: draft.observer.trim() === '' ? 'Enter who made these captures.' : messageOf(observer.error),
      };
  if (draft.from === 'file') {
    const { file } = draft;
    if (!file) errors.file = 'Choose a WARC file, or drop it here.';
    else if (file.size > MAX_CAPTURE_FILE_BYTES)
      errors.file = `The file is ${formatBytes(file.size)}. The limit is ${formatBytes(MAX_CAPTURE_FILE_BYTES)}.`;
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

function messageOf(error: z.ZodError): string {
  return error.issues[0]?.message ?? 'This value is not valid.';
}
