import { z } from 'zod';
import { digestSchema } from '../../../../shared/digest.ts';
import {
  type ConsistencyProof,
  type LedgerEntry,
  type LedgerHead,
  NO_HASH,
} from '../../../../shared/ledger.ts';
import { instantSchema } from '../../../../shared/text.ts';
import { formatCount } from '../../format/size.ts';
import { hashOfEntry } from './chain.ts';
import { provesConsistency } from './consistency.ts';

/** The small file that a person keeps, to hold the node to its word later. */
const savedHeadSchema = z.object({
  format: z.literal('strongroom-ledger-head'),
  version: z.literal(1),
  node: z.string().max(1000),
  seq: z.int().min(0),
  hash: digestSchema,
  root: digestSchema,
  saved_at: instantSchema,
});
export type SavedHead = z.output<typeof savedHeadSchema>;

/** No head is larger; a film dropped by mistake is not read. */
export const MAX_HEAD_FILE_BYTES = 16_384;

export function savedHeadOf(head: LedgerHead, node: string, savedAt: string): SavedHead {
  return { format: 'strongroom-ledger-head', version: 1, node, ...head, saved_at: savedAt };
}

export function headFileText(head: SavedHead): string {
  return `${JSON.stringify(head, null, 2)}\n`;
}

export function headFileName({ node, seq }: SavedHead): string {
  return `ledger-head-${node.replace(/[^a-z0-9.-]+/gi, '-')}-${seq}.json`;
}

/** The head in a file's text, or a sentence that says why there is none. */
export function parseSavedHead(text: string): { head: SavedHead } | { refused: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { refused: 'This file is not JSON. Choose the file that “Save the head” made.' };
  }
  const parsed = savedHeadSchema.safeParse(value);
  if (parsed.success) return { head: parsed.data };
  const issue = parsed.error.issues[0];
  const place = issue?.path.join('.') || 'the file';
  return {
    refused: `This is no saved ledger head: ${place} is not as it should be. ${issue?.message ?? ''}`,
  };
}

/** One thing that differs between what was saved and what the node shows now. */
export interface HeadDifference {
  what: string;
  saved: string;
  now: string;
}

export interface HeadComparison {
  differences: HeadDifference[];
  /** Entries that came since. */
  since: number;
  /** Whether the node gave a proof, checked here, that its ledger begins with the saved one. */
  proven: boolean;
  otherNode: boolean;
  /** The head of now. */
  head: LedgerHead;
}

/** What the node shows now: its head, the entry at the saved place, and its proof; the two where it has them. */
export interface LedgerNow {
  node: string;
  head: LedgerHead;
  entry: LedgerEntry | undefined;
  proof: Pick<ConsistencyProof, 'hashes'> | undefined;
}

/** Holds a saved head against what the node shows now. Nothing is believed that can be computed here. */
export function compareHeads(saved: SavedHead, { node, head, entry, proof }: LedgerNow): HeadComparison {
  const differences: HeadDifference[] = [];
  const expectSame = (what: string, before: string, after: string) => {
    if (before !== after) differences.push({ what, saved: before, now: after });
  };
  if (head.seq < saved.seq) {
    differences.push({
      what: 'How many entries there are',
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
  if (head.seq === saved.seq) expectSame('Root of the tree over all entries', saved.root, head.root);
  const proven = proof !== undefined && provesConsistency(saved, head, proof);
  if (proof !== undefined && !proven && differences.length === 0) {
    differences.push({
      what: 'Proof that the ledger of now begins with the saved one',
      saved: saved.root,
      now: 'the node’s proof does not lead from this root to the one of now',
    });
  }
  return { differences, since: head.seq - saved.seq, proven, otherNode: saved.node !== node, head };
}
