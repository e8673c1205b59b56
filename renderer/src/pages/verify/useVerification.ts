import { create } from 'zustand';
import type { PathFile } from '../assemble/files/readDropped.ts';
import { emptyVerification, VerificationRun, type VerificationState } from './verificationRun.ts';

interface Verification extends VerificationState {
  /** Loads the workers, so that nothing has to be loaded when files are dropped. */
  prepare: () => void;
  add: (files: readonly PathFile[]) => Promise<void>;
  clear: () => void;
}

/** What is dropped on the page stays there while other pages are visited. Nothing is sent but digests. */
export const useVerification = create<Verification>()((set) => {
  let run = new VerificationRun(set);
  return {
    ...emptyVerification(),
    // An effect calls it, and React would take a result for a clean-up function when the page is left.
    prepare: () => {
      run.prepare();
    },
    add: (files) => run.add(files),
    clear: () => {
      run.close();
      run = new VerificationRun(set);
      run.prepare();
      set(emptyVerification());
    },
  };
});
