import { create } from 'zustand';
import type { PathFile } from '../assemble/files/readDropped.ts';
import type { CheckpointNote, CheckpointResult } from './checkpointNote.ts';
import type { DroppedList, Finding } from './findings.ts';
import { Run } from './run.ts';

export interface Progress {
  files: number;
  bytes: number;
  totalBytes: number;
  rate: number;
}

/** A dropped checkpoint or proof, and what was found out about it. */
export interface CheckedNote {
  note: CheckpointNote;
  result: CheckpointResult;
}

export interface Verification {
  /** The same array while files are hashed; `version` changes when something in it did. */
  findings: Finding[];
  version: number;
  lists: DroppedList[];
  checkpoints: CheckedNote[];
  progress: Progress | undefined;
  /** Whether the node could not be asked; look-ups are tried again. */
  isOffline: boolean;
  /** Loads the workers, so that nothing has to be loaded when files are dropped. */
  prepare: () => void;
  add: (files: readonly PathFile[], node: string) => Promise<void>;
  clear: () => void;
}

/** What is dropped on the page stays there while other pages are visited. Nothing is sent but digests. */
export const useVerification = create<Verification>()((set, get) => {
  let run = new Run(set, get);
  return {
    findings: [],
    version: 0,
    lists: [],
    checkpoints: [],
    progress: undefined,
    isOffline: false,
    prepare: () => run.prepare(),
    add: (files, node) => run.add(files, node),
    clear: () => {
      run.close();
      run = new Run(set, get);
      run.prepare();
      set({ findings: [], version: 0, lists: [], checkpoints: [], progress: undefined, isOffline: false });
    },
  };
});
