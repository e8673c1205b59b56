import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Listening, listeningSchema } from '../../shared/listening.ts';
import { isMissing } from './blobs/missing.ts';

/** Tells the programs that are run beside the node where it listens; `undefined` that it does no longer. */
export async function tellListening(folder: string, listening: Listening | undefined): Promise<void> {
  const file = fileIn(folder);
  if (listening === undefined) return rm(file, { force: true });
  // Whoever reads meanwhile finds all of it or none.
  await writeFile(`${file}.new`, `${JSON.stringify(listening)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/**
 * What the node told that has the folder open. After a crash it is what the one before told; so ask only where the
 * folder is in use.
 */
export async function readListening(folder: string): Promise<Listening | undefined> {
  let text: string;
  try {
    text = await readFile(fileIn(folder), 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  return listeningSchema.parse(JSON.parse(text));
}

function fileIn(folder: string): string {
  return join(folder, 'listening');
}
