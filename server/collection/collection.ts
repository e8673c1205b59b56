import type { CollectionResult } from '../../shared/collection/collection.ts';
import type { ApprovedLinks, ChosenLinks } from '../../shared/collection/follow.ts';
import type { NewSource, SourcePreview, WatchedSource } from '../../shared/collection/source.ts';
import type { ListFormat, SourceImport } from '../../shared/collection/sourceList.ts';
import type { Jobs, RunningJob } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import { shuttingDown } from '../runtime/shuttingDown.ts';
import type { SettingsStore } from '../store/settings.ts';
import type { Store } from '../store/store.ts';
import { type Captures, openCaptures } from './captures/captures.ts';
import type { Deriver } from './derived/process/deriver.ts';
import { isPrivateAddress } from './fetch/addresses.ts';
import type { NetworkConfig } from './fetch/attempt.ts';
import { systemLookup } from './fetch/connect.ts';
import { ConnectionPool } from './fetch/connections.ts';
import { RobotsCache } from './fetch/robots.ts';
import { Follower } from './follow/follower.ts';
import { approveFound } from './follow/foundLinks.ts';
import { ObjectReceiver } from './record/objectReceiver.ts';
import { HostRateLimiter } from './schedule/hostRateLimiter.ts';
import { Collector, chooseSources } from './schedule/round.ts';
import { Scheduler } from './schedule/scheduler.ts';
import { importSources } from './sources/importSources.ts';
import { Previews } from './sources/previews.ts';
import { PrivateAddressCheck } from './sources/privateSources.ts';
import { addSource } from './sources/sources.ts';

export interface CollectionConfig {
  store: Store;
  settings: SettingsStore;
  jobs: Jobs;
  log: Log;
  /** Reads the links of followed sources. */
  deriver: Pick<Deriver, 'derive'>;
  /** Overrides name resolution, the rule for private addresses (the system resolver and IANA's registries), and the pool's
   * keep-alive. */
  network?: NetworkConfig | undefined;
}

/** The running collector. */
export interface Collection {
  /** Starts checking sources when they are due. */
  startSchedule(): void;
  /** Starts a round of the sources with these ids, or of all that are not paused. @throws Problem `unknown_source`. */
  startRound(ids: readonly string[] | undefined): RunningJob<CollectionResult>;
  /** Fetches once and stores nothing. @throws Problem `preview_failed` if the host asked for a pause (Retry-After). */
  preview(url: string): Promise<SourcePreview>;
  /** Adds a source. @throws Problem `source_exists`, `id_taken`, `invalid_field`. */
  add(source: NewSource): Promise<WatchedSource>;
  /** Adds the sources of a list. @throws Problem `invalid_list`. */
  importSources(form: ListFormat, bytes: Uint8Array): Promise<SourceImport>;
  /** Watches addresses that followed sources link to. */
  approveFound(chosen: ChosenLinks): Promise<ApprovedLinks>;
  /** Third parties' captures. */
  readonly captures: Captures;
  /** Re-reads the schedule after sources were added or changed. */
  wake(): void;
  /** Aborts running requests and waits until everything received is recorded. */
  close(): Promise<void>;
}

/** Opens the collector. It makes no request until a round, a preview or the schedule is started. */
export function openCollection(config: CollectionConfig): Collection {
  const { store, jobs, log, deriver, network } = config;
  const { clock } = store;
  const settings = () => config.settings.current;
  const closing = new AbortController();
  const connections = new ConnectionPool(network?.keepAliveMs);
  const rateLimiter = new HostRateLimiter(clock, settings);
  const fetching = {
    clock,
    rateLimiter,
    robots: new RobotsCache(clock),
    connections,
    lookup: systemLookup,
    isPrivateAddress,
    ...network,
  };
  const receiver = new ObjectReceiver(store, settings);
  const follower = new Follower({ store, deriver, fetching, settings, log });
  const collector = new Collector({
    ...fetching,
    store,
    log,
    receiver,
    settings,
    follow: (keys, signal) => follower.follow(keys, signal),
  });
  const scheduler = new Scheduler({ store, clock, settings, collector, log });
  const previews = new Previews({ ...fetching, store, settings }, closing.signal);
  const thenWake = async <Result>(adding: Promise<Result>): Promise<Result> => {
    const added = await adding;
    scheduler.wake();
    return added;
  };
  return {
    captures: openCaptures({ store, receiver, settings, fetching, jobs }, closing.signal),
    startSchedule: () => scheduler.start(),
    startRound: (ids) => startRound({ store, jobs, collector }, ids, closing.signal),
    preview: (url) => previews.preview(url),
    add: async (source) => {
      const allowPrivate = await new PrivateAddressCheck(fetching).allows(source.url);
      return thenWake(addSource(store, source, allowPrivate));
    },
    importSources: (form, bytes) =>
      thenWake(importSources({ store, network: fetching }, form, bytes, settings().collection_every_minutes)),
    approveFound: (chosen) => thenWake(approveFound({ store, network: fetching }, chosen)),
    wake: () => scheduler.wake(),
    async close() {
      closing.abort();
      await scheduler.close();
      await previews.idle();
      await collector.idle();
      rateLimiter.close();
      await connections.close();
    },
  };
}

/** Starts a round that the owner asked for. */
function startRound(
  { store, jobs, collector }: { store: Store; jobs: Jobs; collector: Collector },
  ids: readonly string[] | undefined,
  closing: AbortSignal,
): RunningJob<CollectionResult> {
  if (closing.aborted) throw shuttingDown();
  // Checked now so that the caller gets the error, and again when the round starts.
  if (ids) chooseSources(store, ids);
  return jobs.start('collection', 'sources', ({ signal, progress }) =>
    collector.collect(() => chooseSources(store, ids), {
      startedBy: 'owner',
      signal: AbortSignal.any([signal, closing]),
      progress,
    }),
  );
}
