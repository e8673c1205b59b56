import { DEFAULT_PORT, type NodeConfig } from '../server/config.ts';
import { openNode, type RunningNode } from '../server/node.ts';

/** Opens the node at the port that was asked for; at the usual one, or any that is free, where none was. */
export async function openArchive(config: NodeConfig): Promise<RunningNode> {
  if (config.port !== undefined) return openNode(config);
  try {
    return await openNode({ ...config, port: DEFAULT_PORT });
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE') throw error;
    return openNode({ ...config, port: 0 });
  }
}

/** Why an archive could not be opened, in a sentence that says what to do. */
export function sentenceOf(error: unknown, port: number | undefined): string {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return `Port ${port} is in use. Give another with --port, or leave it out for any free one.`;
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `This account may not open the archive: ${messageOf(error)}.`;
    case 'ENOSPC':
      return 'The disk is full: make room on it and start again.';
    default:
      return messageOf(error);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
