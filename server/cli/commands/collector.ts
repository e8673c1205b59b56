import { resolve } from 'node:path';
import type { CollectionResult } from '../../../shared/collection/collection.ts';
import type { Event } from '../../../shared/collection/event.ts';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import {
  LIST_MEDIA_TYPES,
  type ListFormat,
  type SourceImport,
} from '../../../shared/collection/sourceList.ts';
import { MAX_LIST_LIMIT } from '../../../shared/limits.ts';
import type { Job } from '../../../shared/node/job.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { openCollection } from '../../collection/collection.ts';
import { Deriver } from '../../collection/derived/process/deriver.ts';
import { openArchiveForWriting } from '../../collection/record/openArchiveForWriting.ts';
import { listWatchedSources } from '../../collection/sources/readSources.ts';
import { readEvent } from '../../collection/timeline/events.ts';
import { Jobs } from '../../runtime/jobs.ts';
import { createLog } from '../../runtime/log.ts';
import { FolderInUseError } from '../../store/opening/folderLock.ts';
import { openSettings } from '../../store/settings.ts';
import { connectToNode, finishedJob, type NodeOptions, type RunningNode } from '../runningNode.ts';

/** The collector of a data folder: opened by this process, or the one of the node that has the folder open. */
export interface Collector {
  importSources(form: ListFormat, bytes: Uint8Array<ArrayBuffer>): Promise<SourceImport>;
  /** Checks all sources that are not paused; resolves when the round is finished. */
  collect(): Promise<CollectionResult>;
  /** Every watched source. */
  sources(): Promise<WatchedSource[]>;
  event(id: number): Promise<Event>;
  close(): Promise<void>;
}

/** @throws Error if a node has the folder open and cannot be reached */
export async function openCollector(options: NodeOptions): Promise<Collector> {
  try {
    return await openInProcess(resolve(options.data));
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    return remoteCollector(await connectToNode(options));
  }
}

async function openInProcess(folder: string): Promise<Collector> {
  const { store } = await openArchiveForWriting({ folder, clock: systemClock });
  try {
    const jobs = new Jobs(systemClock, store.randomHex);
    const settings = openSettings(store);
    const log = createLog('silent');
    const deriver = new Deriver(log, undefined, store.blobs);
    const collection = openCollection({ store, settings, jobs, log, deriver });
    return {
      importSources: (form, bytes) => collection.importSources(form, bytes),
      collect: () => collection.startRound(undefined).finished,
      sources: () => allPages(async (page) => listWatchedSources(store, { ...page, sort: '-added' }).items),
      event: async (id) => readEvent(store, String(id)),
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

function remoteCollector(node: RunningNode): Collector {
  return {
    async importSources(form, bytes) {
      const type = Object.entries(LIST_MEDIA_TYPES).find(([, each]) => each === form)?.[0] ?? '';
      return (await node.request('POST', '/manage/sources/import', { type, bytes })) as SourceImport;
    },
    async collect() {
      const job = (await node.request('POST', '/manage/collections')) as Job;
      return (await finishedJob(node, job)) as CollectionResult;
    },
    sources: () =>
      allPages(async ({ limit, offset }) => {
        const page = await node.request('GET', `/manage/sources?limit=${limit}&offset=${offset}`);
        return (page as { items: WatchedSource[] }).items;
      }),
    event: async (id) => (await node.request('GET', `/api/events/${id}`)) as Event,
    close: async () => {},
  };
}

async function allPages<Item>(
  read: (page: { limit: number; offset: number }) => Promise<Item[]>,
): Promise<Item[]> {
  const all: Item[] = [];
  for (;;) {
    const page = await read({ limit: MAX_LIST_LIMIT, offset: all.length });
    all.push(...page);
    if (page.length < MAX_LIST_LIMIT) return all;
  }
}
