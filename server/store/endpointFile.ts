import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type NodeEndpoint, nodeEndpointSchema } from '../../shared/node/dataFolder.ts';
import { orIfMissing } from './files.ts';

/** Writes the address the node listens on, for programs on the same machine; `undefined` removes it. */
export async function writeEndpointFile(folder: string, listening: NodeEndpoint | undefined): Promise<void> {
  const file = fileIn(folder);
  if (listening === undefined) return rm(file, { force: true });
  // The rename makes the change atomic for readers.
  await writeFile(`${file}.new`, `${JSON.stringify(listening)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/**
 * Reads the address written by the node that has the folder open. After a crash the file is stale, so call this only
 * while the folder is in use.
 */
export async function readEndpointFile(folder: string): Promise<NodeEndpoint | undefined> {
  const text = await orIfMissing(readFile(fileIn(folder), 'utf8'), undefined);
  return text === undefined ? undefined : nodeEndpointSchema.parse(JSON.parse(text));
}

function fileIn(folder: string): string {
  return join(folder, 'listening');
}
