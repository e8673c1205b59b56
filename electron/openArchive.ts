import { dirname, join } from 'node:path';
import { DEFAULT_PORT, type NodeConfig } from '../server/config.ts';
import { requireArchive } from '../server/moving/archivePlace.ts';
import { openNode, type RunningNode } from '../server/node.ts';
import { errorCode } from '../shared/values/errorCode.ts';
import { archiveToOpen, openPreferences } from './preferences.ts';
import { placeToOpen } from './sample/sample.ts';

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

/**
 * Opens the node on the configured port. Without one: on the default port, or on any free port if that is in use.
 *
 * @throws what `openNode` throws; for a sample, an Error that says how to get back to the own archive
 */
export async function openArchive(config: NodeConfig): Promise<RunningNode> {
  try {
    return await openOnPort(config);
  } catch (error) {
    const isBusy =
      error instanceof Error && (error.name === 'FolderInUseError' || errorCode(error) === 'EADDRINUSE');
    if (!config.sample?.isOpen || isBusy) throw error;
    throw new Error(
      `The sample archive cannot be opened: ${messageOf(error)} Remove the folder ${config.dataFolder} to open your own archive.`,
      { cause: error },
    );
  }
}

async function openOnPort(config: NodeConfig): Promise<RunningNode> {
  if (config.port !== undefined) return openNode(config);
  try {
    return await openNode({ ...config, port: DEFAULT_PORT });
  } catch (error) {
    if (errorCode(error) !== 'EADDRINUSE') throw error;
    return openNode({ ...config, port: 0 });
  }
}

interface ServedArchive extends Omit<NodeConfig, 'dataFolder' | 'sample' | 'signInCode'> {
  /** The folder of the person's own archive. */
  own: string;
  /** Resolves when serving ends. */
  ended: Promise<void>;
  /** Called for each archive that is opened: the own one, and the sample as long as the person looks at it. */
  onOpen: (node: RunningNode, isSample: boolean) => void;
  /** Called when a sample that was given up cannot be removed now. */
  onLeftOver: (error: unknown) => void;
}

/** Serves an archive, or its sample while there is one, at one address until `ended` resolves. */
export async function serveArchive({
  own,
  ended,
  onOpen,
  onLeftOver,
  ...config
}: ServedArchive): Promise<void> {
  let { port } = config;
  for (let signInCode: string | undefined; ; ) {
    const next = Promise.withResolvers<string>();
    const place = await placeToOpen({ own, log: config.log, onLeftOver, reopen: next.resolve });
    const { folder: dataFolder, sample } = place;
    const node = await openArchive({ ...config, port, dataFolder, sample, signInCode });
    port = Number(new URL(node.url).port);
    onOpen(node, sample.isOpen);
    signInCode = await Promise.race([next.promise, ended.then(() => undefined)]);
    await node.close();
    if (signInCode === undefined) return;
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
