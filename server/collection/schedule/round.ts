import { setImmediate } from 'node:timers/promises';
import { instantOf } from '../../../shared/clock.ts';
import type { CollectionResult } from '../../../shared/collection.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Log } from '../../runtime/log.ts';
import { updateNextCheck } from '../../store/sqlite/collection/dueTimes.ts';
import { endRound, insertRound } from '../../store/sqlite/collection/rounds.ts';
import {
  activeSources,
  recordInternalFailure,
  type SourceRow,
  type SourceToCheck,
  sourceById,
  sourceByKey,
} from '../../store/sqlite/collection/sources.ts';
import { isStorageFailure } from '../../store/storageSpace.ts';
import type { Store } from '../../store/store.ts';
import { countDeferredFailure, type SavedRetrieval } from '../record/recordRetrieval.ts';
import { type Check, type CheckServices, checkSource, nextCheckAt } from './checkSource.ts';
import { HostBackoffError } from './hostRateLimiter.ts';
import { randomFraction } from './randomFraction.ts';

export interface RoundOptions {
  startedBy: 'schedule' | 'owner';
  signal: AbortSignal;
  progress: (done: number, total: number) => void;
}

export interface CollectorServices extends CheckServices {
  log: Log;
}

/** Fewer hosts than this say nothing of the node's own network. */
export const MIN_HOSTS_FOR_OFFLINE = 3;
/** Due times are stretched or shrunk by up to this share, each by its own: what was checked at once parts. */
export const JITTER = 0.05;

/** Checks that are begun before other work is let in between. */
const SLICE = 50;

/** Runs rounds, one after the other: a source is never asked for twice at once. */
export class Collector {
  readonly #services: CollectorServices;
  #last: Promise<unknown> = Promise.resolve();

  constructor(services: CollectorServices) {
    this.#services = services;
  }

  /**
   * Checks sources once the rounds before it are over. `choose` picks them then, so that none is checked that was
   * removed meanwhile. A round that is cancelled gives back what it had come to. Whatever the check of one source
   * throws is that source's failure; only a disk that fails ends a round.
   */
  collect(choose: () => SourceToCheck[], options: RoundOptions): Promise<CollectionResult> {
    const round = this.#last.then(() => new Round(this.#services, options).run(choose));
    this.#last = round.catch(() => {});
    return round;
  }

  /** Resolves once no round runs. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** The sources of these ids, or all that are not paused. @throws Problem `unknown_source`. */
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
  /** Failures of the network, kept back until it is known that the node itself is online. */
  readonly #held: SavedRetrieval[] = [];
  readonly #counting: Promise<void>[] = [];
  #id = 0;
  /** Whether there are hosts enough to tell whether the fault is the node's own. */
  #isTelling = false;
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
    this.#isTelling = await haveHostsThatTell(chosen);
    const outcomes = await this.#checkAll(chosen);
    this.#result.observer_offline = !signal.aborted && this.#isOffline();
    if (!this.#result.observer_offline && !signal.aborted) this.#countHeld();
    await Promise.all(this.#counting);
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
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    return this.#result;
  }

  /** Begins every check, a slice at a time so that requests go on meanwhile; each waits for its own turn. */
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
      // Whether it failed is asked below, once all are over.
      check.catch(() => {});
      checks.push(check);
      if (index % SLICE === SLICE - 1) await setImmediate();
    }
    return Promise.allSettled(checks);
  }

  async #check({ key, url }: SourceToCheck, onDone: () => void): Promise<void> {
    const { signal } = this.#options;
    let source: SourceRow | undefined;
    try {
      source = sourceByKey(this.#services.store.read, key);
      // One that was let go a moment ago is not asked for any more.
      if (!source || source.removed) return onDone();
      const checked = source;
      const check = await checkSource(this.#services, checked, {
        round: this.#id,
        signal,
        onResponse: () => this.#onResponse(),
        mayDefer: () => this.#isTelling && !this.#anyAnswered,
        dueAt: (notBefore) => this.#dueAt(checked, notBefore),
      });
      if (check.held) this.#held.push(check.held);
      if (this.#anyAnswered) this.#countHeld();
      this.#add(check);
    } catch (error) {
      if (signal.aborted) return onDone();
      if (isStorageFailure(error)) throw error;
      if (source && error instanceof HostBackoffError) await this.#postpone(source, error.until);
      else await this.#recordInternalFailure({ key, url }, error);
    }
    onDone();
  }

  /** What is held back at the end of a round was met by hosts of which none answered. */
  #isOffline(): boolean {
    return new Set(this.#held.map(hostOf)).size >= MIN_HOSTS_FOR_OFFLINE;
  }

  #onResponse(): void {
    if (this.#anyAnswered) return;
    this.#anyAnswered = true;
    this.#countHeld();
  }

  #countHeld(): void {
    const { store, settings, log } = this.#services;
    for (const retrieval of this.#held.splice(0)) {
      const counting = countDeferredFailure(store, retrieval, settings()).then(
        (events) => void this.#result.events.push(...events),
        (error: unknown) => log.error({ error }, 'A failure that was held back could not be counted'),
      );
      this.#counting.push(counting);
    }
  }

  #add({ error, recorded }: Check): void {
    const result = this.#result;
    result.checked += 1;
    result.events.push(...recorded.events);
    if (error !== null) result.failed += 1;
    else if (recorded.isNewVersion) result.changed += 1;
    else result.unchanged += 1;
  }

  /** When the source is due again, by what its owner wants by now; a host that asked for longer is given it. */
  #dueAt({ key, ...asked }: SourceRow, notBefore: number | null): string {
    const { store, clock, settings } = this.#services;
    const source = sourceByKey(store.read, key) ?? { key, ...asked };
    const jitter = 1 - JITTER + 2 * JITTER * randomFraction(store);
    const due = nextCheckAt(source, settings(), clock.now(), jitter);
    return notBefore !== null && instantOf(notBefore) > due ? instantOf(notBefore) : due;
  }

  /** The check failed for a reason of this node's own: said of the source, told in the log, and tried again when it is due. */
  async #recordInternalFailure({ key, url }: SourceToCheck, error: unknown): Promise<void> {
    const { store, clock, settings, log } = this.#services;
    log.error({ error, url }, 'A source could not be checked');
    this.#result.checked += 1;
    this.#result.failed += 1;
    const every = settings().collection_every_minutes * 60_000;
    const next_check_at = instantOf(clock.now() + every * (1 - JITTER * randomFraction(store)));
    await store.write((database) =>
      recordInternalFailure(database, { key, error: 'check_failed', at: store.instant(), next_check_at }),
    );
  }

  /** The source was not asked for, because its host is to be left alone. */
  #postpone(source: SourceRow, until: number): Promise<void> {
    const at = this.#dueAt(source, until);
    return this.#services.store.write((database) => updateNextCheck(database, source.key, at));
  }
}

/** The host of an address; of what is none, nothing. */
export function hostOf({ url }: { url: string }): string {
  return URL.parse(url)?.hostname ?? '';
}

/** Whether they are of hosts enough; thousands of one host are looked through a slice at a time. */
async function haveHostsThatTell(sources: readonly { url: string }[]): Promise<boolean> {
  const hosts = new Set<string>();
  for (const [index, source] of sources.entries()) {
    if (hosts.add(hostOf(source)).size >= MIN_HOSTS_FOR_OFFLINE) return true;
    if (index % SLICE === SLICE - 1) await setImmediate();
  }
  return false;
}
