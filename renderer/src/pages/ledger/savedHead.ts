import { z } from 'zod';
import { digestSchema } from '../../../../shared/digest.ts';
import { type LedgerEntry, type LedgerHead, NO_HASH } from '../../../../shared/ledger.ts';
import { instantSchema } from '../../../../shared/text.ts';
import { hashOfEntry } from './chain.ts';

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
  /** Whether every entry up to the saved one still stands, as far as its own hash tells. */
  ok: boolean;
  differences: HeadDifference[];
  /** Entries that came since; negative where the ledger is shorter than it was. */
  since: number;
  otherNode: boolean;
}

/** Holds a saved head against the head of now and the entry that stands at its place now (none for an empty ledger). */
export function compareHeads(
  saved: SavedHead,
  now: { head: LedgerHead; node: string; entry: LedgerEntry | undefined },
): HeadComparison {
  const differences: HeadDifference[] = [];
  const tell = (what: string, before: string, after: string) => {
    if (before !== after) differences.push({ what, saved: before, now: after });
  };
  const { head, entry } = now;
  if (head.seq < saved.seq) {
    differences.push({ what: 'The number of entries', saved: String(saved.seq), now: String(head.seq) });
  } else if (saved.seq === 0) {
    tell('The hash of the empty ledger', saved.hash, NO_HASH);
  } else if (entry?.seq !== saved.seq) {
    differences.push({ what: `Entry ${saved.seq}`, saved: saved.hash, now: 'no such entry' });
  } else {
    tell(`The hash of entry ${saved.seq}`, saved.hash, entry.hash);
    tell(`The hash of entry ${saved.seq}, recomputed from its content`, saved.hash, hashOfEntry(entry));
  }
  if (head.seq === saved.seq) tell('The root of the tree', saved.root, head.root);
  return {
    ok: differences.length === 0,
    differences,
    since: head.seq - saved.seq,
    otherNode: saved.node !== now.node,
  };
}
