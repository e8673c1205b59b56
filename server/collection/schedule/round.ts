import type { CollectionResult } from '../../../shared/collection/collection.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import { endRound, insertRound, updateNextCheck } from '../../store/sqlite/collection/dueTimes.ts';
import {
  activeSources,
  recordInternalFailure,
  type SourceRow,
  type SourceToCheck,
  sourceById,
  sourceByKey,
} from '../../store/sqlite/collection/sources.ts';
import { isStorageFailure } from '../../store/storageErrors.ts';
import { randomFraction, type Store } from '../../store/store.ts';
import type { PageToCapture } from '../pages/pages.ts';
import { LoginMissingError } from '../profiles/profiles.ts';
import { countDeferredFailure, type SavedRetrieval } from '../record/recordRetrieval.ts';
import { type CheckServices, checkSource, type SourceCheck } from './checkSource.ts';
import { HostBackoffError } from './hostRateLimiter.ts';
import { JITTER, nextCheckTime } from './nextCheck.ts';

interface RoundOptions {
  startedBy: 'schedule' | 'owner';
  signal: AbortSignal;
  progress: (done: number, total: number) => void;
  /** Whether pages are drawn whatever `capture` of their source says. */
  asPages?: boolean;
}

interface CollectorServices extends CheckServices {
  log: Log;
  /** Called at the end of a round with the keys of the checked sources that are followed. */
  follow: (sourceKeys: readonly number[], signal: AbortSignal) => Promise<void>;
  /** Captures the page of a source after its check. Resolves to the id of the event, if there is one. */
  capturePage: (page: PageToCapture, signal: AbortSignal) => Promise<number | null>;
  /** Called after a round and after the pages that it drew. */
  onRound?: () => void;
  /** Called when a check brought a new version: with the key of the source and the event. */
  onNewVersion?: (sourceKey: number, event: number) => void;
}

/** The minimum number of unreachable hosts that indicates a fault of the node's own network. */
export const MIN_HOSTS_FOR_OFFLINE = 3;
/** The number of checks that are started before the event loop gets a turn. */
const BATCH = 50;

/** Runs rounds one after another, so that no source is requested twice at the same time. */
export class Collector {
  readonly #services: CollectorServices;
  #last: Promise<unknown> = Promise.resolve();
  readonly #drawing = new Set<Promise<unknown>>();

  constructor(services: CollectorServices) {
    this.#services = services;
  }

  /**
   * Runs a round after the rounds before it. `choose` is called when the round starts, so that sources removed in the
   * meantime are left out. A cancelled round returns its results so far. An error in the check of one source counts as
   * a failure of that source; only a storage failure fails the round. The result has the events of the pages that are
   * drawn after the checks; the next round does not wait for them.
   */
  async collect(choose: () => SourceToCheck[], options: RoundOptions): Promise<CollectionResult> {
    const round = this.#last.then(async () => {
      const started = new Round(this.#services, options);
      return { result: await started.run(choose), pages: started.pages };
    });
    this.#last = round.catch(() => {});
    const { result, pages } = await round;
    const drawn = Promise.all(pages);
    this.#drawing.add(drawn);
    try {
      const events = (await drawn).filter((event) => event !== null);
      return { ...result, events: [...result.events, ...events].sort((left, right) => left - right) };
    } finally {
      this.#drawing.delete(drawn);
      this.#services.onRound?.();
    }
  }

  /** Resolves when no round is running and no page is being drawn. */
  async idle(): Promise<void> {
    await this.#last;
    await Promise.allSettled(this.#drawing);
  }
}

/** Returns the sources with these ids, or all that are not paused. @throws Problem `unknown_source`. */
export function chooseSources(
  store: Pick<Store, 'read'>,
  ids: readonly string[] | undefined,
): SourceToCheck[] {
  if (ids === undefined) return activeSources(store.read);
  return [...new Set(ids)].map((id) => {
    const source = sourceById(store.read, id);
    if (!source || source.removed) {
      throw new Problem('unknown_source', `No source ${id} is watched here.`, {
        errors: [{ path: `/sources/${ids.indexOf(id)}`, message: 'No such source is watched.' }],
      });
    }
    return source;
  });
}

class Round {
  readonly #services: CollectorServices;
  readonly #options: RoundOptions;
  readonly #result: CollectionResult = {
    checked: 0,
    unchanged: 0,
    changed: 0,
    failed: 0,
    events: [],
    observer_offline: false,
  };
  /** Network failures that are not counted until it is known that the node is online. */
  readonly #deferred: SavedRetrieval[] = [];
  readonly #counting: Promise<void>[] = [];
  /** The keys of the checked sources whose links are followed. */
  readonly #followed: number[] = [];
  /** The pages that are drawn after the checks of their sources. */
  readonly pages: Promise<number | null>[] = [];
  #id = 0;
  /** Whether the round has enough hosts to detect a fault of the node's own network. */
  #canDetectOffline = false;
  #anyAnswered = false;

  constructor(services: CollectorServices, options: RoundOptions) {
    this.#services = services;
    this.#options = options;
  }

  async run(choose: () => SourceToCheck[]): Promise<CollectionResult> {
    const { store, clock } = this.#services;
    const chosen = choose();
    const { startedBy, signal, progress } = this.#options;
    progress(0, chosen.length);
    this.#id = await store.write((database) =>
      insertRound(database, { started_by: startedBy, started_at: store.instant() }),
    );
    this.#canDetectOffline = await haveEnoughHosts(chosen);
    const outcomes = await this.#checkAll(chosen);
    this.#result.observer_offline = !signal.aborted && this.#isOffline();
    if (!this.#result.observer_offline && !signal.aborted) this.#countDeferred();
    await Promise.all(this.#counting);
    const [followed] = await Promise.allSettled([this.#follow()]);
    this.#result.events.sort((left, right) => left - right);
    const { checked, unchanged, changed, failed, observer_offline } = this.#result;
    await store.write((database) =>
      endRound(database, this.#id, {
        checked,
        unchanged,
        changed,
        failed,
        observer_offline,
        completed: !signal.aborted,
        ended_at: instantOf(clock.now()),
      }),
    );
    for (const outcome of [...outcomes, followed]) if (outcome.status === 'rejected') throw outcome.reason;
    return this.#result;
  }

  /** Follows the links of the checked sources, so that what they bring is added in this round. */
  async #follow(): Promise<void> {
    const { signal } = this.#options;
    if (this.#followed.length > 0 && !signal.aborted) await this.#services.follow(this.#followed, signal);
  }

  /** Starts all checks in batches, so that the event loop is not blocked. The rate limiter delays their requests. */
  async #checkAll(chosen: readonly SourceToCheck[]): Promise<PromiseSettledResult<void>[]> {
    const { progress } = this.#options;
    const checks: Promise<void>[] = [];
    let done = 0;
    const onDone = () => {
      done += 1;
      progress(done, chosen.length);
    };
    for (const [index, { key, url }] of chosen.entries()) {
      const check = this.#check({ key, url }, onDone);
      // Avoids an unhandled rejection. `allSettled` reports the failure.
      check.catch(() => {});
      checks.push(check);
      if (index % BATCH === BATCH - 1) await yieldToEventLoop();
    }
    return Promise.allSettled(checks);
  }

  async #check({ key, url }: SourceToCheck, onDone: () => void): Promise<void> {
    const { signal } = this.#options;
    let source: SourceRow | undefined;
    try {
      source = sourceByKey(this.#services.store.read, key);
      // The source may have been removed since the round started.
      if (!source || source.removed) return onDone();
      const checked = source;
      const check = await checkSource(this.#services, checked, {
        round: this.#id,
        signal,
        onResponse: () => this.#onResponse(),
        mayDefer: () => this.#canDetectOffline && !this.#anyAnswered,
        dueAt: (current, notBefore) => this.#dueAt(current, notBefore),
        asPage: this.#options.asPages,
      });
      if (check.deferred) this.#deferred.push(check.deferred);
      if (this.#anyAnswered) this.#countDeferred();
      this.#add(check);
      const event = check.recorded.events.at(-1);
      if (check.recorded.isNewVersion && event !== undefined)
        this.#services.onNewVersion?.(checked.key, event);
      if (checked.follow && check.error === null) this.#followed.push(checked.key);
      if (check.page) this.#capture(check.page);
    } catch (error) {
      if (signal.aborted) return onDone();
      if (isStorageFailure(error)) throw error;
      if (source && error instanceof HostBackoffError) await this.#postpone(source, error.until);
      else await this.#recordInternalFailure({ key, url }, source, error);
    }
    onDone();
  }

  #capture(page: PageToCapture): void {
    const capture = this.#services.capturePage(page, this.#options.signal);
    // Avoids an unhandled rejection. The caller of the round gets the failure.
    capture.catch(() => {});
    this.pages.push(capture);
  }

  /** At the end of a round, failures are still deferred only if no host responded. */
  #isOffline(): boolean {
    return new Set(this.#deferred.map(hostOf)).size >= MIN_HOSTS_FOR_OFFLINE;
  }

  #onResponse(): void {
    if (this.#anyAnswered) return;
    this.#anyAnswered = true;
    this.#countDeferred();
  }

  #countDeferred(): void {
    const { store, settings, log } = this.#services;
    for (const retrieval of this.#deferred.splice(0)) {
      const counting = countDeferredFailure(store, retrieval, settings()).then(
        (events) => void this.#result.events.push(...events),
        (error: unknown) => log.error({ error }, 'A deferred failure could not be counted'),
      );
      this.#counting.push(counting);
    }
  }

  #add({ error, recorded }: SourceCheck): void {
    const result = this.#result;
    result.checked += 1;
    result.events.push(...recorded.events);
    if (error !== null) result.failed += 1;
    else if (recorded.isNewVersion) result.changed += 1;
    else result.unchanged += 1;
  }

  /** Returns when the source is due again, but not before `notBefore` (Retry-After). */
  #dueAt(source: SourceRow, notBefore: number | null): string {
    const { store, clock, settings } = this.#services;
    const at = nextCheckTime(source, {
      everyMinutes: settings().collection_every_minutes,
      from: clock.now(),
      notBefore,
      fraction: randomFraction(store),
    });
    return instantOf(at);
  }

  /** Records a failure of this node's own on the source and in the log, also that a login is missing. The source is tried again when it is due. */
  async #recordInternalFailure(
    { key, url }: SourceToCheck,
    source: SourceRow | undefined,
    error: unknown,
  ): Promise<void> {
    const { store, log } = this.#services;
    const isMissing = error instanceof LoginMissingError;
    if (!isMissing) log.error({ error, url }, 'A source could not be checked');
    this.#result.checked += 1;
    this.#result.failed += 1;
    const next_check_at = this.#dueAfterFailure(source);
    const reason = isMissing ? 'profile_missing' : 'check_failed';
    await store.write((database) =>
      recordInternalFailure(database, { key, error: reason, at: store.instant(), next_check_at }),
    );
  }

  #dueAfterFailure(source: SourceRow | undefined): string {
    const { store, clock, settings, log } = this.#services;
    try {
      if (source) return this.#dueAt(source, null);
    } catch (error) {
      log.error({ error, url: source?.url }, 'The schedule of a source cannot be read');
    }
    // Its row is damaged, so the default interval applies.
    const every = settings().collection_every_minutes * 60_000;
    return instantOf(clock.now() + every * (1 - JITTER * randomFraction(store)));
  }

  /** Reschedules a source whose host asked for a pause. */
  async #postpone(source: SourceRow, until: number): Promise<void> {
    await this.#services.store.write((database) => {
      const current = sourceByKey(database, source.key) ?? source;
      updateNextCheck(database, source.key, this.#dueAt(current, until));
    });
  }
}

/** Returns the host name of a URL, or an empty string if the URL is invalid. */
export function hostOf({ url }: { url: string }): string {
  return URL.parse(url)?.hostname ?? '';
}

/** Returns whether the sources have at least `MIN_HOSTS_FOR_OFFLINE` hosts. Works in batches, like `#checkAll`. */
async function haveEnoughHosts(sources: readonly { url: string }[]): Promise<boolean> {
  const hosts = new Set<string>();
  for (const [index, source] of sources.entries()) {
    if (hosts.add(hostOf(source)).size >= MIN_HOSTS_FOR_OFFLINE) return true;
    if (index % BATCH === BATCH - 1) await yieldToEventLoop();
  }
  return false;
}
