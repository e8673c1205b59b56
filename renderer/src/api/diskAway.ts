import { create } from 'zustand';

interface DiskAway {
  /** The sentence with which the node refuses everything while the disk of its archive is not connected. */
  sentence: string | undefined;
}

/** What the last answer of the node said about its disk, whatever was asked. */
export const useDiskAway = create<DiskAway>()(() => ({ sentence: undefined }));

/** Call it with each answer: with the sentence of the refusal, or without one. */
export function noteDiskAway(sentence: string | undefined): void {
  if (useDiskAway.getState().sentence !== sentence) useDiskAway.setState({ sentence });
}
