import { bytesToHex } from '@noble/hashes/utils.js';
import { call } from '../../api/client.ts';
import { provesConsistency } from '../ledger/checkpoint/consistency.ts';

/** A C2SP checkpoint, alone or at the end of a `.tlog-proof` file. */
export interface CheckpointNote {
  path: string;
  origin: string;
  size: number;
  /** In hex. */
  root: string;
  /** The index of the entry that a proof file is about. */
  index: number | null;
}

export type CheckpointResult =
  | { state: 'pending' }
  | { state: 'consistent'; since: number }
  | { state: 'inconsistent' }
  | { state: 'other_log' };

const PROOF_HEADER = 'c2sp.org/tlog-proof@v1\n';
const NOTE = /^([^\n]+)\n(\d{1,15})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*\n(?:— [^\n]+\n?)+$/;

/** Parses a checkpoint or a proof file, or returns undefined. */
export function parseCheckpointNote(path: string, text: string): CheckpointNote | undefined {
  const isProof = text.startsWith(PROOF_HEADER);
  const note = isProof ? text.slice(text.indexOf('\n\n') + 2) : text;
  const [, origin, size, root] = NOTE.exec(note) ?? [];
  if (origin === undefined || size === undefined || root === undefined) return undefined;
  const index = isProof ? /\nindex (\d{1,15})\n/.exec(text)?.[1] : undefined;
  return {
    path,
    origin,
    size: Number(size),
    root: bytesToHex(Uint8Array.from(atob(root), (letter) => letter.charCodeAt(0))),
    index: index === undefined ? null : Number(index),
  };
}

/** Asks the node for a proof that its ledger begins with the checkpoint's, and verifies it here. */
export async function checkNote(note: CheckpointNote, node: string): Promise<CheckpointResult> {
  if (note.origin !== node) return { state: 'other_log' };
  const { head } = await call('readLedger', { query: { limit: 1 } });
  if (note.size > head.seq) return { state: 'inconsistent' };
  const saved = { seq: note.size, root: note.root };
  const hashes =
    note.size === 0
      ? []
      : (await call('proveConsistency', { query: { from: note.size, to: head.seq } })).hashes;
  return provesConsistency(saved, head, { hashes })
    ? { state: 'consistent', since: head.seq - note.size }
    : { state: 'inconsistent' };
}
