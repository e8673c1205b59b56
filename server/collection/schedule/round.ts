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
import type { PageToCapture } from '../pages/captureQueue.ts';
import { LoginMissingError } from '../profiles/profiles.ts';
import { countDeferredFailure, type SavedRetrieval } from '../record/recordRetrieval.ts';
import { type CheckServices, checkSource, type SourceCheck } from './checkSource.ts';
import { HostBackoffError } from './hostRateLimiter.ts';
import { JITTER, nextCheckTime } from './nextCheck.ts';

interface RoundOptions {
  startedBy: 'schedule' | 'owner';
  signal: AbortSignal;
  progress: (done: number, total: number) => void;
  /** Whether pages are drawn whatever `capture` of their source says. Somebody waits for them, so they are drawn first. */
  asPages?: boolean;
}

/** A round after its checks. */
interface CheckedRound {
  result: CollectionResult;
  /** The events of the pages drawn so far. */
  pageEvents: number[];
  /** Resolves when all its pages are drawn. */
  drawn: Promise<unknown>;
}

interface CollectorServices extends CheckServices {
  log: Log;
  /** Called at the end of a round with the keys of the checked sources that are followed. */
  follow: (sourceKeys: readonly number[], signal: AbortSignal) => Promise<void>;
  /** Captures the page of a source after its check. Resolves to the id of the event, if there is one. */
  capturePage: (page: PageToCapture, signal: AbortSignal, isFirst: boolean) => Promise<number | null>;
  /** Called after a round and after the pages that it drew. */
  onRound?: () => void;
  /** Called when a check brought a new version: with the key of the source and the event. */
  onNewVersion?: (sourceKey: number, event: number) => void;
}

/** The minimum number of unreachable hosts that indicates a fault of the node's own network. */
export const MIN_HOSTS_FOR_OFFLINE = 3;
/** The number of checks that are started before the event loop gets a turn. */
const BATCH = 50;

/** Runs rounds one after another. No source is requested twice at the same time. */
export class Collector {
  readonly #services: CollectorServices;
  readonly #checking = new SourceTurns();
  readonly #running = new Set<Promise<unknown>>();
  #last: Promise<unknown> = Promise.resolve();

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
    const { result, pageEvents, drawn } = await this.#inTurn(choose, options);
    // Other pages may be drawn before those of a round that was cancelled.
    await untilAborted(drawn, options.signal);
    return { ...result, events: [...result.events, ...pageEvents].sort((left, right) => left - right) };
  }

  /** Like `collect`, but the pages are drawn later, and their events are not in the result. */
  async check(choose: () => SourceToCheck[], options: RoundOptions): Promise<CollectionResult> {
    const { result, drawn } = await this.#inTurn(choose, options);
    this.#logFailure(drawn);
    return result;
  }

  /** Checks sources beside the running rounds, and follows no links. */
  async recheck(
    choose: () => SourceToCheck[],
    { signal, withPage }: { signal: AbortSignal; withPage: boolean },
  ): Promise<void> {
    const options = { startedBy: 'schedule', signal, progress: () => {} } as const;
    const { drawn } = await this.#run(choose, { ...options, isExtra: true, drawsFirst: withPage });
    if (withPage) await untilAborted(drawn, signal);
    else this.#logFailure(drawn);
  }

  /** Resolves when no round is running and no page is being drawn. */
  async idle(): Promise<void> {
    await this.#last;
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  #inTurn(choose: () => SourceToCheck[], options: RoundOptions): Promise<CheckedRound> {
    const { asPages = false } = options;
    const round = this.#last.then(() =>
      this.#run(choose, { ...options, isExtra: false, drawsFirst: asPages }),
    );
    this.#last = round.catch(() => {});
    return round;
  }

  async #run(choose: () => SourceToCheck[], options: OneRoundOptions): Promise<CheckedRound> {
    const round = new Round(this.#services, this.#checking, options);
    const result = await this.#track(round.run(choose));
    const drawn = this.#track(Promise.all(round.pages).finally(() => this.#services.onRound?.()));
    return { result, pageEvents: round.pageEvents, drawn };
  }

  #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#running.add(work);
    const ended = () => this.#running.delete(work);
    work.then(ended, ended);
    return work;
  }

  /** Nobody waits for these pages. */
  #logFailure(drawn: Promise<unknown>): void {
    drawn.catch((error: unknown) => this.#services.log.error({ error }, 'A page could not be recorded'));
  }
}

/** Lets checks of the same source run one after another. */
class SourceTurns {
  readonly #last = new Map<number, Promise<unknown>>();

  /** Runs a check after those of the same source. If the signal is aborted before, it runs at once, to end itself. */
  async run(key: number, signal: AbortSignal, check: () => Promise<void>): Promise<void> {
    for (let last = this.#last.get(key); last && !signal.aborted; last = this.#last.get(key))
      await untilAborted(last, signal);
    const running = check();
    const settled = running.catch(() => {});
    this.#last.set(key, settled);
    try {
      await running;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }
}

/** Resolves when the work ends, or when the signal is aborted. */
async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const over = new AbortController();
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { signal: over.signal });
  });
  try {
    await Promise.race([work, aborted]);
  } finally {
    over.abort();
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

interface OneRoundOptions extends RoundOptions {
  /** Whether it runs beside another round. The next round follows what it brings. */
  isExtra: boolean;
  /** Whether its pages are drawn before those that nobody waits for. */
  drawsFirst: boolean;
}

class Round {
  readonly #services: CollectorServices;
  readonly #checking: SourceTurns;
  readonly #options: OneRoundOptions;
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
  readonly pages: Promise<void>[] = [];
  readonly pageEvents: number[] = [];
  #id = 0;
  /** Whether the round has enough hosts to detect a fault of the node's own network. */
  #canDetectOffline = false;
  #anyAnswered = false;

  constructor(services: CollectorServices, checking: SourceTurns, options: OneRoundOptions) {
    this.#services = services;
    this.#checking = checking;
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
    const { progress, signal } = this.#options;
    const checks: Promise<void>[] = [];
    let done = 0;
    const onDone = () => {
      done += 1;
      progress(done, chosen.length);
    };
    for (const [index, { key, url }] of chosen.entries()) {
      const check = this.#checking.run(key, signal, () => this.#check({ key, url }, onDone));
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
      if (checked.follow && check.error === null && !this.#options.isExtra) this.#followed.push(checked.key);
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
    const { signal, drawsFirst } = this.#options;
    const capture = this.#services.capturePage(page, signal, drawsFirst).then((event) => {
      if (event !== null) this.pageEvents.push(event);
    });
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
      updateNextCheck(database, { key: source.key, next_check_at: this.#dueAt(current, until) });
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
