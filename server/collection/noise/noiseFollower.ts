import { type Conditions, isUnconditional } from '../../../shared/alerts/alert.ts';
import type { ChosenElement, NoiseFindings, Scope, WatchChoices } from '../../../shared/collection/noise.ts';
import { Problem } from '../../../shared/problems.ts';
import type { DamageContext } from '../../fixity/audit.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import {
  type Change,
  type ComparableEvent,
  type EventNoise,
  eventsToJudge,
  hasRules,
  lastJudgedEvent,
  NO_PICTURE,
  newestVersion,
  putEventNoise,
  recordSearch,
  setLastJudgedEvent,
  type WatchedPart,
  watchedParts,
} from '../../store/sqlite/collection/timeline/eventNoise.ts';
import { lastEventId } from '../../store/sqlite/collection/timeline/events.ts';
import type { Store } from '../../store/store.ts';
import { IdleMonitor } from '../derived/idleMonitor.ts';
import {
  type DeriveOptions,
  type Deriver,
  noticeDamagedObjects,
  objectToRead,
} from '../derived/process/deriver.ts';
import { isPermanent, NotDerivableError, type WatchedResult } from '../derived/process/tasks.ts';

/** Events looked up at a time. */
const PAGE = 1_000;
/** The position is written at least once per this many events, so that a restart repeats little work. */
const WRITE_EVERY = 10_000;

/** Watched parts looked up at a time. */
const PARTS = 200;

type PartToSeek = Pick<WatchedPart, 'key' | 'watch'> & { sha256: string };

/** Judges new changes in the background, once the store is idle, and looks for watched parts in new versions. */
export class NoiseFollower {
  readonly #store: Store;
  readonly #deriver: Deriver;
  readonly #log: Log;
  readonly #idleMonitor: IdleMonitor;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** By the key of a source: the part and the version that could not be read, in which it was to be looked for. */
  readonly #unread = new Map<number, string>();
  #isWoken = false;
  #after: number;

  constructor({
    store,
    deriver,
    log,
    idleMs,
  }: { store: Store; deriver: Deriver; log: Log; idleMs?: number }) {
    this.#store = store;
    this.#deriver = deriver;
    this.#log = log;
    this.#idleMonitor = new IdleMonitor(store, idleMs);
    this.#after = lastJudgedEvent(store.read);
  }

  start(): void {
    this.#idleMonitor.start(() => this.#wake());
    this.#wake();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#idleMonitor.stop();
    await this.#running;
  }

  #wake(): void {
    this.#isWoken = true;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    try {
      while (this.#isWoken) {
        await this.#idleMonitor.waitUntilIdle(signal);
        this.#isWoken = false;
        await this.#judgeNew(signal);
        await this.#seekParts(signal);
      }
    } catch (error) {
      if (!signal.aborted) this.#log.error({ error }, 'The noise rules could not be applied to new events');
    } finally {
      this.#running = undefined;
    }
  }

  async #judgeNew(signal: AbortSignal): Promise<void> {
    const last = lastEventId(this.#store.read);
    while (this.#after < last) {
      const until = Math.min(this.#after + PAGE, last);
      const page = hasRules(this.#store.read)
        ? eventsToJudge(this.#store.read, { after: this.#after, until })
        : [];
      for (const event of page) {
        signal.throwIfAborted();
        await this.#judge(event);
      }
      const isWriteDue = Math.floor(until / WRITE_EVERY) > Math.floor(this.#after / WRITE_EVERY);
      this.#after = until;
      if (isWriteDue) await this.#idleMonitor.write((database) => setLastJudgedEvent(database, until));
      await yieldToEventLoop();
    }
  }

  async #seekParts(signal: AbortSignal): Promise<void> {
    let after = 0;
    for (;;) {
      const page = watchedParts(this.#store.read, after, PARTS);
      for (const { key, watch, sha256, watch_sought } of page) {
        signal.throwIfAborted();
        if (sha256 !== null && sha256 !== watch_sought) await this.#seek({ key, watch, sha256 });
      }
      after = page.at(-1)?.key ?? after;
      if (page.length < PARTS) return;
      await yieldToEventLoop();
    }
  }

  /** A version that cannot be read, or not in time, is looked at again after the next start. */
  async #seek({ key, watch, sha256 }: PartToSeek): Promise<void> {
    const name = JSON.stringify([sha256, watch]);
    if (this.#unread.get(key) === name) return;
    if (sha256 === NO_PICTURE) {
      await this.#recordSearch({ key, watch, sha256 }, false);
      return;
    }
    const services = { store: this.#store, deriver: this.#deriver };
    const version = await readVersion(services, sha256, { watch, rules: [] }, 'low');
    const { outcome, found } = version?.watch ?? {};
    if (!found || outcome === 'timed_out' || outcome === 'failed') {
      this.#unread.set(key, name);
      return;
    }
    await this.#recordSearch({ key, watch, sha256 }, found.to > 0);
  }

  #recordSearch({ key, watch, sha256 }: PartToSeek, isFound: boolean): Promise<number> {
    const lost_at = isFound ? null : this.#store.instant();
    return this.#idleMonitor.write((database) =>
      recordSearch(database, { key, watch: JSON.stringify(watch), sha256, lost_at }),
    );
  }

  async #judge(event: ComparableEvent): Promise<void> {
    const { id, compared, scope, rules_digest } = event;
    const services = { store: this.#store, deriver: this.#deriver };
    const mark = noiseMarkOf(await judgeEvent(services, compared, scope, 'low'));
    await this.#idleMonitor.write((database) => {
      if (mark && rules_digest !== null) putEventNoise(database, [{ event: id, ...mark, rules_digest }]);
      setLastJudgedEvent(database, id);
    });
  }
}

const JUDGE_TIMEOUT_MS = 15_000;

/** What comparing versions needs. */
interface JudgeServices {
  store: DamageContext;
  deriver: Deriver;
}

/** The findings for an event, or why the versions cannot be read and whether their bytes are intact. */
type Judgement = { noise: NoiseFindings } | { problem: string; isIntact: boolean };

/**
 * Applies a watched part and rules to two versions, in the derive process.
 *
 * @throws Problem `derivation_busy`, `shutting_down`.
 */
export async function judgeEvent(
  { store, deriver }: JudgeServices,
  { from, to }: ComparableEvent['compared'],
  scope: Scope,
  priority: DeriveOptions['priority'],
): Promise<Judgement> {
  try {
    const noise = await deriver.derive(
      {
        task: 'noise',
        from: objectToRead(store, from),
        to: objectToRead(store, to),
        scope,
      },
      { timeoutMs: JUDGE_TIMEOUT_MS, priority },
    );
    return { noise };
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [from, to]);
    return { problem: error.message, isIntact: isPermanent(error.reason) };
  }
}

/** Returns what is watched of a version; undefined if its bytes are missing or damaged. */
export async function readVersion(
  { store, deriver }: JudgeServices,
  sha256: string,
  scope: Scope,
  priority: DeriveOptions['priority'] = 'normal',
): Promise<WatchedResult | undefined> {
  try {
    const object = objectToRead(store, sha256);
    return await deriver.derive(
      { task: 'watched', object, scope },
      { timeoutMs: JUDGE_TIMEOUT_MS, priority },
    );
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [sha256]);
    return undefined;
  }
}

export async function findChoices(
  { store, deriver }: JudgeServices & { store: Pick<Store, 'read'> },
  sourceKey: number,
  element: ChosenElement,
): Promise<WatchChoices> {
  const sha256 = newestVersion(store.read, sourceKey, null);
  if (sha256 === undefined) throw new Problem('not_found', 'The archive has no version of this source yet.');
  try {
    const object = objectToRead(store, sha256);
    const options = { timeoutMs: JUDGE_TIMEOUT_MS, priority: 'normal' } as const;
    return { choices: await deriver.derive({ task: 'choices', object, ...element }, options) };
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [sha256]);
    throw new Problem('not_derivable', `The newest version cannot be read. ${error.message}`, {
      cause: error,
    });
  }
}

/** Only an object that has no text, or was given up, surely meets no condition: an extra alert is better than a missing one. */
const MEETS_NONE: ReadonlySet<string> = new Set([
  'unsupported',
  'too_large',
  'damaged',
  'encrypted',
  'released',
]);

export async function checkConditions(
  { store, deriver }: JudgeServices,
  { from, to, scope }: Change,
  conditions: Conditions,
): Promise<boolean> {
  const isFirst = from === null;
  const newer = objectToRead(store, to);
  const older = isFirst ? newer : objectToRead(store, from);
  try {
    return await deriver.derive(
      { task: 'conditions', from: older, to: newer, isFirst, scope, conditions },
      { timeoutMs: JUDGE_TIMEOUT_MS, priority: 'low' },
    );
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [from ?? to, to]);
    return isUnconditional(conditions) || !MEETS_NONE.has(error.reason);
  }
}

type Mark = Pick<EventNoise, 'is_noise' | 'outside'>;

/**
 * Returns how to mark an event. An event whose versions cannot be read is not noise. Returns undefined if everything is
 * compared, or if the bytes are missing or damaged, so that the event stays unmarked.
 */
export function noiseMarkOf(judgement: Judgement): Mark | undefined {
  if (!('noise' in judgement)) return judgement.isIntact ? { is_noise: false, outside: false } : undefined;
  const { is_noise, outside } = judgement.noise;
  return is_noise === null ? undefined : { is_noise, outside };
}
