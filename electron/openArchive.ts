import { dirname, join } from 'node:path';
import { DEFAULT_PORT, type NodeConfig } from '../server/config.ts';
import { requireArchive } from '../server/moving/archivePlace.ts';
import { openNode, type RunningNode } from '../server/node.ts';
import { errorCode } from '../shared/values/errorCode.ts';
import { archiveToOpen, openPreferences } from './preferences.ts';

/**
 * Returns the folder of the archive that the app opens without `--data`, as its preferences and moves say.
 *
 * @throws MoveError if the archive that the user chose is not there
 */
export function chosenFolder(defaultFolder: string): string {
  const preferences = openPreferences(join(dirname(defaultFolder), 'desktop.json'));
  const folder = archiveToOpen(preferences, defaultFolder);
  if (folder !== defaultFolder) requireArchive(folder);
  return folder;
}

/** Opens the node on the configured port. Without one: on the default port, or on any free port if that is in use. */
export async function openArchive(config: NodeConfig): Promise<RunningNode> {
  if (config.port !== undefined) return openNode(config);
  try {
    return await openNode({ ...config, port: DEFAULT_PORT });
  } catch (error) {
    if (errorCode(error) !== 'EADDRINUSE') throw error;
    return openNode({ ...config, port: 0 });
  }
}

/** Returns the message for a failure to open an archive: one sentence that says what to do. */
export function errorMessage(error: unknown, port: number | undefined): string {
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return `Port ${port} is in use. Choose another with --port, or omit --port for any free port.`;
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `This account may not open the archive: ${messageOf(error)}.`;
    case 'ENOSPC':
      return 'The disk is full: free some space and start again.';
    default:
      return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
