import { bytesToHex } from '@noble/hashes/utils.js';
import { parseSavedHead, withPlainLineEnds } from '../../../../../shared/ledger/savedHead.ts';
import { bytesOfBase64, parseSignedNote, type SignedNote } from './signedNote.ts';

/** A checkpoint that a person saved: a signed note, or an unsigned head in an older format. */
export interface SavedCheckpoint {
  /** The name of the node. */
  origin: string;
  seq: number;
  /** In hex. */
  root: string;
  /** Undefined for an unsigned head. */
  note: SignedNote | undefined;
  /** The hash of the last entry and the time; only an unsigned head has them. */
  hash?: string;
  savedAt?: string;
}

/** Larger files are rejected without reading them. */
export const MAX_CHECKPOINT_BYTES = 16_384;

export const CHECKPOINT_FILE_TYPES = '.checkpoint,.txt,.json,text/plain,application/json';

/** The name under which a checkpoint is saved. */
export function checkpointFileName({ origin, seq }: SavedCheckpoint): string {
  return `${origin.replace(/[^a-z0-9.-]+/gi, '-')}-${seq}.checkpoint`;
}

/** Parses a checkpoint file. Returns the checkpoint or an error message. */
export function parseCheckpoint(text: string): { saved: SavedCheckpoint } | { refused: string } {
  const head = parseSavedHead(text);
  if (head) {
    const { node, seq, root, hash, saved_at } = head;
    return { saved: { origin: node, seq, root, note: undefined, hash, savedAt: saved_at } };
  }
  const note = parseSignedNote(withPlainLineEnds(text));
  const [origin = '', size = '', encodedRoot = ''] = note?.text.split('\n') ?? [];
  const root = bytesOfBase64(encodedRoot);
  if (!note || origin === '' || !/^(0|[1-9]\d{0,14})$/.test(size) || root?.length !== 32)
    return {
      refused: 'This file is not a checkpoint. Choose a file that was saved with “Save checkpoint”.',
    };
  return { saved: { origin, seq: Number(size), root: bytesToHex(root), note } };
}
