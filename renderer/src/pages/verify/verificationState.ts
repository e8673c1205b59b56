import type { PathFile } from '../assemble/files/readDropped.ts';
import type { CheckpointNote, CheckpointResult } from './checkpointNote.ts';
import type { DroppedList, FileResult } from './fileResults.ts';

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
  results: FileResult[];
  version: number;
  lists: DroppedList[];
  checkpoints: CheckedNote[];
  progress: Progress | undefined;
  /** Whether the node could not be asked; look-ups are tried again. */
  isOffline: boolean;
  /** Loads the workers, so that nothing has to be loaded when files are dropped. */
  prepare: () => void;
  add: (files: readonly PathFile[]) => Promise<void>;
  clear: () => void;
}
