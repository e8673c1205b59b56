import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type NodeEndpoint, nodeEndpointSchema } from '../../shared/nodeEndpoint.ts';
import { isMissing } from './blobs/fileErrors.ts';

/** Tells the programs that are run beside the node where it listens; `undefined` that it does no longer. */
export async function writeEndpointFile(folder: string, listening: NodeEndpoint | undefined): Promise<void> {
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
export async function readEndpointFile(folder: string): Promise<NodeEndpoint | undefined> {
  let text: string;
  try {
    text = await readFile(fileIn(folder), 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  return nodeEndpointSchema.parse(JSON.parse(text));
}

function fileIn(folder: string): string {
  return join(folder, 'listening');
}
