import { resolve } from 'node:path';
import { systemClock } from '../../shared/values/clock.ts';
import { type Collection, openCollection } from '../collection/collection.ts';
import { Deriver } from '../collection/derived/process/deriver.ts';
import { openArchiveForWriting } from '../collection/record/coverRetrievals.ts';
import type { NodeConfig } from '../config.ts';
import { Jobs } from '../runtime/jobs.ts';
import { createLog } from '../runtime/log.ts';
import { FolderInUseError } from '../store/opening/folderLock.ts';
import { openSettings } from '../store/settings.ts';
import type { Store } from '../store/store.ts';
import { archiveFolder } from './dataFolder.ts';
import { connectToNode, type NodeOptions, type RunningNode } from './runningNode.ts';

/** The collector of a data folder that this process has open. */
export interface CollectionHere {
  store: Store;
  /** The name of the node whose data folder it is. */
  nodeName: string;
  collection: Collection;
  deriver: Deriver;
  jobs: Jobs;
  close(): Promise<void>;
}

/** What a command does in this process, and what it asks of a node. */
interface HereOrThere<Result> {
  here: (opened: CollectionHere) => Promise<Result>;
  there: (node: RunningNode) => Promise<Result>;
}

/** Reads from the archive of a data folder, as `hereOrThere`. @throws UsageError if there is no archive */
export function readArchive<Result>(
  options: NodeOptions,
  config: Partial<NodeConfig>,
  read: HereOrThere<Result>,
): Promise<Result> {
  return hereOrThere({ ...options, data: archiveFolder(options.data) }, config, read);
}

/** Works in a data folder in this process, or has the node do it that has the folder open. @throws whatever it throws */
export async function hereOrThere<Result>(
  options: NodeOptions,
  config: Partial<NodeConfig>,
  { here, there }: HereOrThere<Result>,
): Promise<Result> {
  let opened: CollectionHere;
  try {
    opened = await openCollectionHere(resolve(options.data), config);
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    return there(await connectToNode(options));
  }
  try {
    return await here(opened);
  } finally {
    await opened.close();
  }
}

/** Opens the collector of a data folder in this process. @throws FolderInUseError if a node has the folder open */
async function openCollectionHere(
  folder: string,
  { startBrowser, startChild }: Partial<NodeConfig>,
): Promise<CollectionHere> {
  const { store, key } = await openArchiveForWriting({ folder, clock: systemClock });
  try {
    const jobs = new Jobs(systemClock, store.randomHex);
    const settings = openSettings(store);
    const log = createLog('silent');
    const deriver = new Deriver(log, startChild, store.blobs);
    const collection = openCollection({ store, settings, jobs, log, deriver, startBrowser });
    return {
      store,
      nodeName: key.name,
      collection,
      deriver,
      jobs,
      async close() {
        await collection.close();
        await deriver.close();
        await jobs.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}
