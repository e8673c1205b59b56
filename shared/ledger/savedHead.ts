import { z } from 'zod';
import { digestSchema } from '../values/digest.ts';
import { instantSchema } from '../values/text.ts';

const savedHeadSchema = z.object({
  format: z.literal('strongroom-ledger-head'),
  version: z.literal(1),
  /** The name of the node. */
  node: z.string().max(1000),
  seq: z.int().min(0),
  /** The hash of the last entry. */
  hash: digestSchema,
  root: digestSchema,
  saved_at: instantSchema,
});
/** An unsigned head, which the interface saved before it saved checkpoints. Such files are still read. */
export type SavedHead = z.output<typeof savedHeadSchema>;

/**
 * Undoes what editors and mail programs do to a saved checkpoint: a byte order mark, CR LF, a missing last line feed. The
 * signature shows whether anything else changed.
 */
export function withPlainLineEnds(text: string): string {
  const plain = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  return plain.endsWith('\n') ? plain : `${plain}\n`;
}

/** Parses a file with a saved head. Returns undefined if the text is anything else. */
export function parseSavedHead(text: string): SavedHead | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return savedHeadSchema.safeParse(value).data;
}
