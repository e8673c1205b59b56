import type { CollectionResult, RoundPause } from '../../shared/collection/collection.ts';
import type { ApprovedLinks, ChosenLinks, FollowPreview } from '../../shared/collection/follow.ts';
import type { PageCapture } from '../../shared/collection/page.ts';
import { PAGE_ERROR_SENTENCES } from '../../shared/collection/retrievalWords.ts';
import type {
  CaptureMode,
  FollowPreviewRequest,
  ListFormat,
  NewSource,
  SourceImport,
  SourcePreview,
  WatchedSource,
} from '../../shared/collection/source.ts';
import { Problem } from '../../shared/problems.ts';
import type { StartBrowser } from '../browser/chromium.ts';
import { ClosedBrowser, chromiumIn } from '../browser/closedBrowser.ts';
import { type Jobs, type RunningJob, shuttingDown } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import type { NetworkPause } from '../runtime/machineState.ts';
import { temporaryFolder } from '../store/files.ts';
import type { SettingsStore } from '../store/settings.ts';
import { newestPage } from '../store/sqlite/collection/pages.ts';
import { type SourceRow, sourceByKey, sourceKeyOf } from '../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../store/sqlite/engine/open.ts';
import type { Store } from '../store/store.ts';
import { type Captures, openCaptures } from './captures/captures.ts';
import type { Deriver } from './derived/process/deriver.ts';
import { isPrivateAddress, systemLookup } from './fetch/connect.ts';
import { ConnectionPool } from './fetch/httpConnection.ts';
import { type Look, lookOnce } from './fetch/lookOnce.ts';
import type { NetworkConfig } from './fetch/requester.ts';
import { RobotsCache } from './fetch/robots.ts';
import { approveFound, Follower } from './follow/follower.ts';
import { previewFollow } from './follow/previewFollow.ts';
import { HandedIn } from './handedIn/handedIn.ts';
import { Draws } from './pages/draws.ts';
import { PARTS_PER_HOST, PageCapturer } from './pages/pages.ts';
import { Profiles } from './profiles/profiles.ts';
import { ObjectReceiver } from './record/objectReceiver.ts';
import { RecordedRequests } from './record/recordedRequests.ts';
import { HostRateLimiter, LookLimiter } from './schedule/hostRateLimiter.ts';
import { AgeRule } from './schedule/releaseAged.ts';
import { Collector, chooseSources } from './schedule/round.ts';
import { roundPauses, Scheduler } from './schedule/scheduler.ts';
import { importSources, Previews } from './sources/importSources.ts';
import { PrivateAddressCheck } from './sources/privateSources.ts';
import { addSource, findOrAddPausedSource, normalizeUrl, sourceIdOf } from './sources/sources.ts';

interface CollectionConfig {
  store: Store;
  settings: SettingsStore;
  jobs: Jobs;
  log: Log;
  /** Reads the links of followed sources. */
  deriver: Pick<Deriver, 'derive'>;
  /** Starts the browser that draws pages (default: Chromium, if there is one). */
  startBrowser?: StartBrowser | undefined;
  /** Overrides name resolution, the rule for private addresses (the system resolver and IANA's registries), and the pool's
   * keep-alive. */
  network?: NetworkConfig | undefined;
  /** What is asked of the machine before a round starts by itself (default: the system). */
  networkPause?: (() => Promise<NetworkPause>) | undefined;
  batteryLow?: (() => Promise<boolean>) | undefined;
}

/** Called with the key of a source and the number of an event. */
type NewVersionListener = (sourceKey: number, event: number) => void;

/** The running collector. */
export interface Collection {
  /** Starts checking sources when they are due. */
  startSchedule(): void;
  /** Before the machine sleeps: no round starts by itself until `resume`, which then spreads what became due. */
  suspend(): void;
  resume(): void;
  /** Why no round starts by itself, as it was when one was due. */
  readonly paused: RoundPause;
  /** Starts a round of the sources with these ids, or of all that are not paused. @throws Problem `unknown_source`. */
  startRound(ids: readonly string[] | undefined): RunningJob<CollectionResult>;
  /**
   * Fetches once, with a login if one is named, and stores nothing. @throws Problem `preview_failed` if the host asked for a
   * pause (Retry-After); `invalid_field`, `profile_key_damaged`.
   */
  preview(url: string, profile: string | null): Promise<SourcePreview>;
  /** Returns what following an address would find. @throws Problem `invalid_field` */
  previewFollow(request: FollowPreviewRequest): Promise<FollowPreview>;
  /** Adds a source. @throws Problem `source_exists`, `id_taken`, `invalid_field`. */
  add(source: NewSource): Promise<WatchedSource>;
  /** Adds the sources of a list; `capture` is for those that do not say it. @throws Problem `invalid_list`. */
  importSources(form: ListFormat, bytes: Uint8Array, capture?: CaptureMode): Promise<SourceImport>;
  /** Watches addresses that followed sources link to. */
  approveFound(chosen: ChosenLinks): Promise<ApprovedLinks>;
  /** Captures the page of an address now; one that is not watched becomes a paused source. @throws Problem `page_failed` */
  capturePage(url: string): Promise<PageCapture>;
  /** Fetches addresses that a drawn page asked for; each that is not watched becomes a paused source. */
  fetchMissing(urls: readonly string[]): Promise<CollectionResult>;
  /**
   * Checks a source now, beside a running round, and draws its page. Waits for the page only if asked to.
   *
   * @throws Problem `unknown_source`, `shutting_down`
   */
  recheck(id: string, options: { withPage: boolean }): Promise<void>;
  /**
   * Fetches an address once as any visitor gets it, for a peer, and stores nothing.
   *
   * @throws Problem `private_address`; HostBackoffError; the signal's reason
   */
  look(url: string, signal: AbortSignal): Promise<Look>;
  /** Sets what is called when a check brought a new version: with the key of the source and the event. */
  whenNewVersion(listener: NewVersionListener): void;
  /** Draws pages from the archive alone. */
  readonly draws: Draws;
  /** Third parties' captures. */
  readonly captures: Captures;
  /** The logins with which sources are watched. */
  readonly profiles: Profiles;
  /** Sends requests that a person asked for, and records them. */
  readonly requests: RecordedRequests;
  /** What a person's own browser showed. */
  readonly handedIn: HandedIn;
  /** Re-reads the schedule after sources were added or changed. */
  wake(): void;
  /** Aborts running requests and waits until everything received is recorded. */
  close(): Promise<void>;
}

/** How many requests of a person are sent to a host at the same time. */
const REQUESTS_PER_HOST = 4;

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
  const profiles = new Profiles(store);
  const following = { store, deriver, profiles, fetching, settings };
  const follower = new Follower({ ...following, log });
  const browser = new ClosedBrowser(config.startBrowser ?? chromiumIn(temporaryFolder(store.folder)), log);
  const partLimiter = new HostRateLimiter(clock, () => ({
    per_host_concurrency: PARTS_PER_HOST,
    per_host_pause_ms: 0,
    collection_concurrency: settings().collection_concurrency,
  }));
  // A person waits for these, and the hosts expect programs: they say themselves when it is too much.
  const requestLimiter = new HostRateLimiter(clock, () => ({
    per_host_concurrency: REQUESTS_PER_HOST,
    per_host_pause_ms: 0,
    collection_concurrency: settings().collection_concurrency,
  }));
  const pages = new PageCapturer({
    store,
    receiver,
    profiles,
    fetching: {
      ...fetching,
      // Pauses do not apply to parts, so that what a host answers to one page holds up no other.
      rateLimiter: { run: (...asked) => partLimiter.run(...asked), pauseUntil: () => {} },
    },
    settings,
    browser,
    deriver,
    log,
  });
  config.settings.onChange(() => pages.wake());
  const draws = new Draws({ store, settings, browser });
  const ageRule = new AgeRule(store, log);
  let newVersionListener: NewVersionListener = () => {};
  const collector = new Collector({
    ...fetching,
    store,
    log,
    receiver,
    profiles,
    settings,
    follow: (keys, signal) => follower.follow(keys, signal),
    capturePage: async (page, signal, isFirst) => (await pages.capture(page, signal, isFirst))?.event ?? null,
    onRound: () => ageRule.soon(),
    onNewVersion: (sourceKey, event) => newVersionListener(sourceKey, event),
  });
  const pause = roundPauses({ ...config, clock, settings });
  const scheduler = new Scheduler({ store, clock, settings, collector, log, pause });
  const previews = new Previews({ ...fetching, store, profiles, settings }, closing.signal);
  const thenWake = async <Result>(adding: Promise<Result>): Promise<Result> => {
    const added = await adding;
    scheduler.wake();
    return added;
  };
  const capturePageNow = (url: string) => capturePage({ store, jobs, collector }, url, closing.signal);
  // A look that ends early, or is refused, must not end the fetch of robots.txt that an own check waits for.
  const robotsOfLooks = new RobotsCache(clock);
  const lookLimiter = new LookLimiter(rateLimiter, clock, () => settings().per_host_pause_ms);
  return {
    profiles,
    requests: new RecordedRequests({
      store,
      receiver,
      fetching: { ...fetching, rateLimiter: requestLimiter },
      settings,
    }),
    handedIn: new HandedIn({ store, receiver, settings, capturePage: capturePageNow }, closing.signal),
    captures: openCaptures({ store, receiver, settings, fetching, jobs }, closing.signal),
    startSchedule: () => {
      scheduler.start();
      ageRule.start();
    },
    suspend: () => scheduler.suspend(),
    resume: () => scheduler.resume(),
    get paused() {
      return scheduler.paused;
    },
    startRound: (ids) => startRound({ store, jobs, collector }, ids, closing.signal),
    preview: (url, profile) => previews.preview(url, profile),
    previewFollow: (request) => previews.run((signal) => previewFollow(following, request, signal)),
    look: (url, signal) =>
      lookOnce(
        { ...fetching, rateLimiter: lookLimiter.begin(), robots: robotsOfLooks, store, settings, deriver },
        url,
        AbortSignal.any([signal, closing.signal]),
      ),
    whenNewVersion: (listener) => {
      newVersionListener = listener;
    },
    draws,
    capturePage: capturePageNow,
    async recheck(id, { withPage }) {
      if (closing.signal.aborted) throw shuttingDown();
      await collector.recheck(() => chooseSources(store, [id]), { signal: closing.signal, withPage });
      if (closing.signal.aborted) throw shuttingDown();
    },
    async fetchMissing(urls) {
      const ids = await store.write((database) => urls.map((url) => pausedSource(database, store, url)));
      return startRound({ store, jobs, collector }, ids, closing.signal).finished;
    },
    add: async (source) => {
      const allowPrivate = await new PrivateAddressCheck(fetching).allows(source.url);
      return thenWake(addSource(store, source, allowPrivate));
    },
    importSources: (form, bytes, capture) =>
      thenWake(
        importSources(
          { store, network: fetching },
          { form, bytes, capture },
          settings().collection_every_minutes,
        ),
      ),
    approveFound: (chosen) => thenWake(approveFound({ store, network: fetching }, chosen)),
    wake: () => scheduler.wake(),
    async close() {
      closing.abort();
      await scheduler.close();
      await previews.idle();
      await pages.close();
      await draws.close();
      await collector.idle();
      await ageRule.close();
      await browser.close();
      rateLimiter.close();
      partLimiter.close();
      requestLimiter.close();
      connections.close();
    },
  };
}

/** Returns the id of the source of an address. One that is not watched is added, and stays paused. */
function pausedSource(database: WriteDatabase, store: Pick<Store, 'instant'>, given: string): string {
  const url = normalizeUrl(given);
  return findOrAddPausedSource(database, sourceIdOf(url), url, store.instant()).id;
}

async function capturePage(
  { store, jobs, collector }: { store: Store; jobs: Jobs; collector: Collector },
  url: string,
  closing: AbortSignal,
): Promise<PageCapture> {
  const id = await store.write((database) => pausedSource(database, store, url));
  const key = sourceKeyOf(store.read, id);
  if (key === undefined) throw new Error(`There is no source ${id}.`);
  const before = newestPage(store.read, key)?.id;
  await startRound({ store, jobs, collector }, [id], closing, true).finished;
  const page = newestPage(store.read, key);
  if (page && page.id !== before) return page;
  throw new Problem('page_failed', whyNotDrawn(sourceByKey(store.read, key)));
}

/** Says why a source has no page capture after a check. */
function whyNotDrawn(source: SourceRow | undefined): string {
  if (source?.page_error) return PAGE_ERROR_SENTENCES[source.page_error];
  if (source?.last_error) return `The address could not be fetched: ${source.last_error}.`;
  return 'The address is not an HTML page, so there is no page to draw. Its bytes are stored.';
}

/** Starts a round that the owner asked for. */
function startRound(
  { store, jobs, collector }: { store: Store; jobs: Jobs; collector: Collector },
  ids: readonly string[] | undefined,
  closing: AbortSignal,
  asPages = false,
): RunningJob<CollectionResult> {
  if (closing.aborted) throw shuttingDown();
  // Checked now so that the caller gets the error, and again when the round starts.
  if (ids) chooseSources(store, ids);
  return jobs.start('collection', 'sources', ({ signal, progress }) =>
    collector.collect(() => chooseSources(store, ids), {
      startedBy: 'owner',
      signal: AbortSignal.any([signal, closing]),
      progress,
      asPages,
    }),
  );
}
