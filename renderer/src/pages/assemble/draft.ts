import { create } from 'zustand';
import { createJSONStorage, persist } from 'zustand/middleware';
import type { Pack } from '../../../../shared/archive/pack.ts';
import type { License, Outcome, Verdict } from '../../../../shared/archive/vocabulary.ts';
import { rememberedAuthors } from './rememberedAuthors.ts';

export interface DraftAuthor {
  key: string;
  name: string;
  orcid: string;
  affiliation: string;
}

export type ResultType = 'number' | 'text' | 'boolean' | 'null';

export interface DraftResult {
  key: string;
  name: string;
  type: ResultType;
  /** The text as typed, whatever the type. */
  value: string;
}

export interface DraftRelated {
  key: string;
  relation: string;
  identifier: string;
}

/** A record while it is being typed. Any field may be empty or invalid. */
export interface Draft {
  title: string;
  summary: string;
  authors: DraftAuthor[];
  license: License | null;
  outcome: Outcome | null;
  hasMethod: boolean;
  /** `complete` is null until the uploader has stated it. */
  method: { text: string; link: string; complete: boolean | null };
  results: DraftResult[];
  keywords: string[];
  node: string | null;
  study: string | null;
  replicates: { pack: string | null; verdict: Verdict | null; note: string } | null;
  supersedes: string | null;
  related: DraftRelated[];
}

/** A stable key for a list row, so that rows keep their identity when others are removed. */
export function rowKey(): string {
  return crypto.getRandomValues(new Uint32Array(2)).join('');
}

export function emptyAuthor(): DraftAuthor {
  return { key: rowKey(), name: '', orcid: '', affiliation: '' };
}

export function draftAuthorOf({ name, orcid, affiliation }: Pack['authors'][number]): DraftAuthor {
  return { key: rowKey(), name, orcid: orcid ?? '', affiliation };
}

/** A draft with nothing but the authors of the last pack. */
export function emptyDraft(): Draft {
  const authors = rememberedAuthors();
  return {
    title: '',
    summary: '',
    authors: authors.length > 0 ? authors.map(draftAuthorOf) : [emptyAuthor()],
    license: null,
    outcome: null,
    hasMethod: false,
    method: { text: '', link: '', complete: null },
    results: [],
    keywords: [],
    node: null,
    study: null,
    replicates: null,
    supersedes: null,
    related: [],
  };
}

/** The draft of the node in which this one is saved. */
export interface SavedDraft {
  id: string;
  /** The revision of the node's draft that this one was read as, or saved as. */
  revision: number;
}

interface DraftState {
  draft: Draft;
  /** Undefined for visitors, and until the owner's draft is saved for the first time. */
  saved: SavedDraft | undefined;
  /** The id of the node's draft while it is created, so that a repeated request creates no second one. */
  newId: string | undefined;
  /** Whether there are changes that the node does not have. */
  isChanged: boolean;
  /** Set while the browser cannot save the draft because its storage is full or disabled. */
  isUnsaved: boolean;
  change: (changes: Partial<Draft>) => void;
  replace: (draft: Draft) => void;
  /** Shows another draft. */
  open: (draft: Draft, saved: SavedDraft | undefined) => void;
  /** Records that the node has a state of the draft. */
  markSaved: (draft: Draft, saved: SavedDraft) => void;
}

/** The draft, kept in this browser on every change. The owner's is saved on the node a moment later. */
export const useDraft = create<DraftState>()(
  persist(
    (set) => ({
      draft: emptyDraft(),
      saved: undefined,
      newId: undefined,
      isChanged: false,
      isUnsaved: false,
      change: (changes) => set((state) => ({ draft: { ...state.draft, ...changes }, isChanged: true })),
      replace: (draft) => set({ draft, isChanged: true }),
      open: (draft, saved) => set({ draft, saved, newId: undefined, isChanged: false }),
      markSaved: (draft, saved) =>
        set((state) => ({ saved, newId: undefined, isChanged: state.draft !== draft })),
    }),
    {
      name: 'strongroom-draft',
      version: 1,
      partialize: ({ draft, saved, newId, isChanged }) => ({ draft, saved, newId, isChanged }),
      merge: (kept, current) => {
        const { draft, saved, newId, isChanged = false } = (kept ?? {}) as Partial<DraftState>;
        return { ...current, draft: completeDraft(draft), saved, newId, isChanged };
      },
      storage: createJSONStorage(() => ({
        getItem: (name) => localStorage.getItem(name),
        removeItem: (name) => localStorage.removeItem(name),
        setItem: (name, value) => {
          const isUnsaved = !tryToKeep(name, value);
          if (useDraft.getState().isUnsaved !== isUnsaved) useDraft.setState({ isUnsaved });
        },
      })),
    },
  ),
);

/** A full or disabled storage must not stop the typing; the page reports that the draft is not saved. */
function tryToKeep(name: string, value: string): boolean {
  try {
    localStorage.setItem(name, value);
    return true;
  } catch {
    return false;
  }
}

/** A draft of this or an earlier release, with every field. */
export function completeDraft(kept: Partial<Draft> | undefined): Draft {
  return { ...emptyDraft(), ...kept };
}

/** Whether starting over would lose anything. */
export function isTouched(draft: Draft): boolean {
  const empty = emptyDraft();
  return (Object.keys(empty) as (keyof Draft)[]).some((field) => plain(draft[field]) !== plain(empty[field]));
}

/** A field as text, without the keys of list rows. */
function plain(value: unknown): string {
  return JSON.stringify(value, (name, inner: unknown) => (name === 'key' ? undefined : inner));
}
