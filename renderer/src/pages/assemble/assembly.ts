import { createContext, useContext } from 'react';
import type { Draft } from './draft.ts';
import { fieldId } from './draftRecord.ts';

/** What every part of the form shares: the draft, how to change it, and what is wrong where. */
export interface Assembly {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  /** The message of a field that may be shown: once the field was left, or publishing was tried. */
  errorOf: (field: string) => string | undefined;
  touch: (field: string) => void;
}

export const AssemblyContext = createContext<Assembly | undefined>(undefined);

export function useAssembly(): Assembly {
  const assembly = useContext(AssemblyContext);
  if (!assembly) throw new Error('useAssembly is for the parts of the assembly page.');
  return assembly;
}

/** The props that bind a form field to its place in the record: where to jump to, and what is wrong with it. */
export function useField(...steps: (string | number)[]) {
  const { errorOf, touch } = useAssembly();
  const id = fieldId(...steps);
  return { id, error: errorOf(id), onBlur: () => touch(id) };
}

/** Goes to the field that an issue is about, or to the part of the page that it is in. */
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
