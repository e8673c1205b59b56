import { create } from 'zustand';
import { Run } from './run.ts';
import type { Verification } from './verificationState.ts';

/** What is dropped on the page stays there while other pages are visited. Nothing is sent but digests. */
export const useVerification = create<Verification>()((set, get) => {
  let run = new Run(set, get);
  return {
    results: [],
    version: 0,
    lists: [],
    checkpoints: [],
    progress: undefined,
    isOffline: false,
    prepare: () => run.prepare(),
    add: (files) => run.add(files),
    clear: () => {
      run.close();
      run = new Run(set, get);
      run.prepare();
      set({ results: [], version: 0, lists: [], checkpoints: [], progress: undefined, isOffline: false });
    },
  };
});
