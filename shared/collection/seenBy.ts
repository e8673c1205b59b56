import { z } from 'zod';
import { digestSchema, peerIdSchema, verifierKeySchema } from '../values/digest.ts';
import { instantSchema } from '../values/text.ts';

/** Differing blocks that are listed by their number; further ones are only counted. */
export const MAX_LISTED_BLOCKS = 100;

export const AGREEMENTS = ['same_bytes', 'same_text', 'differs', 'unreachable'] as const;
export type Agreement = (typeof AGREEMENTS)[number];

/** Which blocks of the text differ. A block is a line that is not empty; the first one is number 1. */
export const differingBlocksSchema = z.strictObject({
  /** How many blocks this node's text has, and the peer's. */
  ours: z.int().min(0),
  theirs: z.int().min(0),
  /** The first blocks of this node's text that the peer did not get. */
  only_ours: z.array(z.int().min(1)).max(MAX_LISTED_BLOCKS),
  only_ours_count: z.int().min(0),
  only_theirs_count: z.int().min(0),
});
export type DifferingBlocks = z.output<typeof differingBlocksSchema>;

/** What an event says of a peer that fetched the same address at the same time. */
export const seenBySchema = z
  .strictObject({
    peer: peerIdSchema,
    name: z.string(),
    key: verifierKeySchema,
    requested_at: instantSchema,
    fetched_at: instantSchema,
    agreement: z.enum(AGREEMENTS),
    status: z.int().nullable(),
    error: z.string().nullable(),
    sha256: digestSchema.nullable(),
    blocks: differingBlocksSchema.nullable().meta({
      description:
        'Which blocks of the text differ. A block is a line that is not empty. Null if the texts are the same, or cannot be compared.',
    }),
    statement: z.string().meta({ description: 'What the peer signed, as a signed note' }),
    ledger_entry: z.int().min(1),
  })
  .meta({ id: 'SeenBy' });
export type SeenBy = z.output<typeof seenBySchema>;

/** The blocks of a text: its lines that are not empty, without the space around them. */
export function blocksOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
