import { z } from 'zod';
import type { Checkpoint } from '../ledger/checkpoint.ts';
import { CheckpointError, openCheckpoint } from '../ledger/checkpoint.ts';
import { CLAIM } from './claimFile.ts';
import { CHECKPOINT } from './copyPaths.ts';
import { readBytes } from './readBytes.ts';
import { CopyError, type CopyTarget, InvalidCopyError } from './targets/target.ts';

const FORMAT = 1;
const MAX_BYTES = 65_536;

const claimSchema = z.object({
  format: z.int(),
  node: z.string(),
  key: z.string(),
  writer: z.string(),
});
export type Claim = z.output<typeof claimSchema>;

/** Returns whose copy is in a place; undefined if there is none. @throws CopyError if the file cannot be understood */
export async function readClaim(target: CopyTarget): Promise<Claim | undefined> {
  const bytes = await readBytes(target, CLAIM, MAX_BYTES);
  if (!bytes) return undefined;
  const claim = claimSchema.safeParse(parsed(bytes));
  if (!claim.success) throw new CopyError(`${target.name} holds a file ${CLAIM} that is not of a copy.`);
  if (claim.data.format !== FORMAT)
    throw new CopyError(
      `The copy in ${target.name} has format ${claim.data.format}; this Strongroom knows ${FORMAT}.`,
    );
  return claim.data;
}

/** Writes whose copy it is. */
export async function writeClaim(target: CopyTarget, claim: Omit<Claim, 'format'>): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify({ format: FORMAT, ...claim })}\n`);
  await target.put(CLAIM, { bytes }, { type: 'application/json' });
  await target.settle();
}

/** A checkpoint of a copy, verified. */
export interface CopiedCheckpoint extends Checkpoint {
  note: string;
}

/**
 * Reads the checkpoint of a copy; undefined if it has none yet.
 *
 * @throws CopyError if none of the keys has signed it
 */
export async function readCopiedCheckpoint(
  target: CopyTarget,
  keys: readonly string[],
): Promise<CopiedCheckpoint | undefined> {
  const bytes = await readBytes(target, CHECKPOINT, MAX_BYTES);
  if (!bytes) return undefined;
  const note = bytes.toString();
  for (const key of keys) {
    try {
      return { ...openCheckpoint(note, key), note };
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw error;
    }
  }
  throw new CopyError(`The checkpoint in ${target.name} was altered, or another archive signed it.`);
}

/**
 * Reads the text of a copy's checkpoint, and the size that it states. Its signature is not checked here.
 *
 * @throws CopyError if there is no copy
 */
export async function readCopiedNote(target: CopyTarget): Promise<{ note: string; size: number }> {
  const note = (await readBytes(target, CHECKPOINT, MAX_BYTES))?.toString();
  if (note === undefined)
    throw new CopyError(`There is no copy in ${target.name}, or its first sync has not ended.`);
  const size = Number(/^[^\n]+\n(\d{1,15})\n/.exec(note)?.[1]);
  if (!Number.isSafeInteger(size))
    throw new InvalidCopyError(`The checkpoint in ${target.name} is not one that a node writes.`);
  return { note, size };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    // Refused by the schema.
    return undefined;
  }
}
