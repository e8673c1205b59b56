import { z } from 'zod';
import {
  type ConsistencyProof,
  type LedgerEntry,
  type LedgerHead,
  NO_HASH,
} from '../../../../shared/ledger/ledger.ts';
import { digestSchema } from '../../../../shared/values/digest.ts';
import { instantSchema } from '../../../../shared/values/text.ts';
import { formatCount } from '../../format/size.ts';
import { hashOfEntry } from './chain.ts';
import { provesConsistency } from './consistency.ts';

/** The content of a checkpoint file. */
const savedHeadSchema = z.object({
  format: z.literal('strongroom-ledger-head'),
  version: z.literal(1),
  node: z.string().max(1000),
  seq: z.int().min(0),
  hash: digestSchema,
  root: digestSchema,
  saved_at: instantSchema,
});
export type SavedCheckpoint = z.output<typeof savedHeadSchema>;

/** Larger files are rejected without reading them. */
export const MAX_CHECKPOINT_BYTES = 16_384;

export function checkpointOf(head: LedgerHead, node: string, savedAt: string): SavedCheckpoint {
  return { format: 'strongroom-ledger-head', version: 1, node, ...head, saved_at: savedAt };
}

export function checkpointText(head: SavedCheckpoint): string {
  return `${JSON.stringify(head, null, 2)}\n`;
}

export function checkpointFileName({ node, seq }: SavedCheckpoint): string {
  return `ledger-head-${node.replace(/[^a-z0-9.-]+/gi, '-')}-${seq}.json`;
}

/** Parses a checkpoint file. Returns the head or an error message. */
export function parseCheckpoint(text: string): { head: SavedCheckpoint } | { refused: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { refused: 'This file is not JSON. Choose a file that was created with “Save checkpoint”.' };
  }
  const parsed = savedHeadSchema.safeParse(value);
  if (parsed.success) return { head: parsed.data };
  const issue = parsed.error.issues[0];
  const place = issue?.path.join('.') || 'the file';
  return {
    refused: `This is not a checkpoint: ${place} is not valid. ${issue?.message ?? ''}`,
  };
}

/** A difference between the checkpoint and the current ledger. */
export interface CheckpointDifference {
  what: string;
  saved: string;
  now: string;
}

export interface CheckpointComparison {
  differences: CheckpointDifference[];
  /** Entries added since. */
  since: number;
  /** Whether the node's proof, verified here, shows that its ledger begins with the saved one. */
  proven: boolean;
  otherNode: boolean;
  /** The current head. */
  head: LedgerHead;
}

/** The node's current head and, if available, the entry at the saved position and the proof. */
export interface CurrentLedger {
  node: string;
  head: LedgerHead;
  entry: LedgerEntry | undefined;
  proof: Pick<ConsistencyProof, 'hashes'> | undefined;
}

/** Compares a checkpoint with the current ledger. Everything that can be recomputed here is. */
export function compareCheckpoint(
  saved: SavedCheckpoint,
  { node, head, entry, proof }: CurrentLedger,
): CheckpointComparison {
  const differences: CheckpointDifference[] = [];
  const expectSame = (what: string, before: string, after: string) => {
    if (before !== after) differences.push({ what, saved: before, now: after });
  };
  if (head.seq < saved.seq) {
    differences.push({
      what: 'Number of entries',
      saved: formatCount(saved.seq),
      now: formatCount(head.seq),
    });
  } else if (saved.seq === 0) {
    expectSame('Hash of the empty ledger', saved.hash, NO_HASH);
  } else if (entry?.seq !== saved.seq) {
    differences.push({ what: `Entry ${formatCount(saved.seq)}`, saved: saved.hash, now: 'no such entry' });
  } else {
    expectSame(`Hash of entry ${formatCount(saved.seq)}`, saved.hash, entry.hash);
    expectSame(
      `Hash of entry ${formatCount(saved.seq)}, recomputed from its content`,
      saved.hash,
      hashOfEntry(entry),
    );
  }
  if (head.seq === saved.seq) expectSame('Root of all entries', saved.root, head.root);
  const proven = proof !== undefined && provesConsistency(saved, head, proof);
  if (proof !== undefined && !proven && differences.length === 0) {
    differences.push({
      what: 'Proof that the current ledger begins with the saved one',
      saved: saved.root,
      now: 'the node’s proof does not connect this root with the current one',
    });
  }
  return { differences, since: head.seq - saved.seq, proven, otherNode: saved.node !== node, head };
}
