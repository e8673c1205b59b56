import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { CheckpointError, openCheckpoint } from '../ledger/checkpoint.ts';
import { isMissing } from '../store/blobs/fileErrors.ts';

/** A file whose first line is the header of a dump; the rest was not checked. */
export interface FoundDump {
  file: string;
  /** The verifier key of the node that made it. */
  key: string;
  /** The number of ledger entries, by its checkpoint. */
  size: number;
  madeAt: string;
}

/** A header has a few hundred characters; a longer first line is not one. */
const MAX_HEADER_BYTES = 65_536;

/** Finds the dumps in a data folder, in its subfolder `dumps` and next to it; newest first. */
export async function findDumps(folder: string): Promise<FoundDump[]> {
  const found: FoundDump[] = [];
  for (const place of [folder, join(folder, 'dumps'), dirname(folder)]) {
    for (const name of await namesIn(place)) {
      const dump = name.endsWith('.jsonl') ? await readDumpHeader(join(place, name)) : undefined;
      if (dump) found.push(dump);
    }
  }
  return found.sort((left, right) => right.size - left.size || (left.madeAt < right.madeAt ? 1 : -1));
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Reads the header of a dump; returns undefined if the file is not a dump. */
export async function readDumpHeader(file: string): Promise<FoundDump | undefined> {
  const header = parsed(await firstLineOf(file));
  if (!header) return undefined;
  const { kind, key, checkpoint, made_at } = header;
  if (kind !== 'header' || typeof key !== 'string' || typeof checkpoint !== 'string') return undefined;
  try {
    return { file, key, size: openCheckpoint(checkpoint, key).size, madeAt: String(made_at) };
  } catch (error) {
    if (error instanceof CheckpointError) return undefined;
    throw error;
  }
}

async function firstLineOf(file: string): Promise<string> {
  const input = createReadStream(file, { end: MAX_HEADER_BYTES - 1 });
  try {
    for await (const line of createInterface({ input })) return line;
    return '';
  } finally {
    input.destroy();
  }
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    // Not JSON, so not a dump.
    return undefined;
  }
}
