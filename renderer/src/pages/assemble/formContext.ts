import { createContext, useContext } from 'react';
import type { Draft } from './draft.ts';
import { fieldId } from './draftRecord.ts';

/** The state shared by all parts of the form: the draft, how to change it, and its errors. */
export interface PackFormState {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  /** A field's error, if it may be shown: after the field was left or publishing was tried. */
  errorOf: (field: string) => string | undefined;
  touch: (field: string) => void;
}

export const PackFormContext = createContext<PackFormState | undefined>(undefined);

export function usePackForm(): PackFormState {
  const assembly = useContext(PackFormContext);
  if (!assembly) throw new Error('usePackForm must be used inside the pack form.');
  return assembly;
}

/** The props that connect a form field to its path in the record: the id to jump to and the error. */
export function useField(...steps: (string | number)[]) {
  const { errorOf, touch } = usePackForm();
  const id = fieldId(...steps);
  return { id, error: errorOf(id), onBlur: () => touch(id) };
}

/** Scrolls to and focuses the field of an issue, or the section that contains it. */
export function jumpToField(field: string): void {
  for (let id = field; id.includes('/'); id = id.slice(0, id.lastIndexOf('/'))) {
    const element = document.getElementById(id);
    if (!element) continue;
    const reduced = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    element.scrollIntoView({ block: 'center', behavior: reduced ? 'auto' : 'smooth' });
    element.focus({ preventScroll: true });
    return;
  }
}
