import { type Conditions, isUnconditional } from '../../../shared/alerts/alert.ts';
import type { NewNoisePreview, NoisePreview, NoiseRun } from '../../../shared/collection/diff.ts';
import {
  type ChosenElement,
  type NoiseFindings,
  type Scope,
  type Selector,
  selectorOf,
  type WatchChoices,
} from '../../../shared/collection/noise.ts';
import { Problem } from '../../../shared/problems.ts';
import type { DamageContext } from '../../fixity/audit.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { JobRun, Jobs, RunningJob } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import {
  type Change,
  type ComparableEvent,
  comparableEvent,
  comparableEventsOf,
  countComparable,
  type EventNoise,
  eventsToJudge,
  hasRules,
  lastJudgedEvent,
  putEventNoise,
  setLastJudgedEvent,
  withScope,
} from '../../store/sqlite/collection/timeline/eventNoise.ts';
import { lastEventId } from '../../store/sqlite/collection/timeline/events.ts';
import {
  NO_PICTURE,
  newestVersion,
  recordSearch,
  type WatchedPart,
  watchedParts,
} from '../../store/sqlite/collection/watchedParts.ts';
import type { Store } from '../../store/store.ts';
import { IdleMonitor } from '../derived/idleMonitor.ts';
import {
  type DeriveOptions,
  type Deriver,
  noticeDamagedObjects,
  objectToRead,
} from '../derived/process/deriver.ts';
import { isPermanent, NotDerivableError, type WatchedResult } from '../derived/process/tasks.ts';
import type { Diffs } from '../diff/diffs.ts';

interface NoiseConfig {
  store: Store;
  deriver: Deriver;
  diffs: Diffs;
  jobs: Jobs;
  log: Log;
  /** See `NodeConfig`. */
  idleMs?: number;
}

/** The service that applies the watched parts and the noise rules of sources to their changes. */
export interface Noise {
  /** Starts applying them to new changes in the background, and looking for the watched parts. */
  startFollowing(): void;
  /** Starts a job that applies those of a source to all of its past changes. @throws Problem `not_found`. */
  startRun(sourceId: string): RunningJob<NoiseRun>;
  /** Shows the effect of a watched part and a set of rules on a source's changes. @throws Problem `not_found`, `invalid_field`. */
  preview(sourceId: string, request: NewNoisePreview): Promise<NoisePreview>;
  /**
   * Finds which ways to name an element of the archived page work in the newest version of a source.
   *
   * @throws Problem `not_found`, `not_derivable`, `derivation_busy`, `copy_unreachable`, `shutting_down`.
   */
  findChoices(sourceId: string, element: ChosenElement): Promise<WatchChoices>;
  /**
   * Returns whether a change, or a first version, meets conditions within what is watched. What can never be read meets none.
   *
   * @throws Problem `derivation_busy`, `copy_unreachable`, `shutting_down`.
   */
  check(change: Change, conditions: Conditions): Promise<boolean>;
  close(): Promise<void>;
}

/** Events read at a time, whose marks are written together. */
const BATCH = 50;
/** Limits on a preview: the newest changes that it covers, and its time. */
const MAX_PREVIEWED = 50;
const PREVIEW_MS = 10_000;

/** Opens the service. It does nothing before one of its methods is called. */
export function openNoise(config: NoiseConfig): Noise {
  const { store, jobs } = config;
  const follower = new NoiseFollower(config);
  return {
    startFollowing: () => follower.start(),
    startRun(sourceId) {
      const key = requireKey(store, sourceId);
      return jobs.start('noise', 'events', (run) => judgePastEvents(config, key, run));
    },
    preview: (sourceId, request) => previewRules(config, requireKey(store, sourceId), sourceId, request),
    findChoices: (sourceId, element) => findChoices(config, requireKey(store, sourceId), element),
    check: (change, conditions) => checkConditions(config, change, conditions),
    close: () => follower.close(),
  };
}

function requireKey({ read }: Pick<Store, 'read'>, id: string): number {
  const source = sourceById(read, id);
  if (!source) throw new Problem('not_found', 'There is no such source.');
  return source.key;
}

async function judgePastEvents(
  { store, deriver }: NoiseConfig,
  sourceKey: number,
  { signal, progress }: JobRun,
): Promise<NoiseRun> {
  const run: NoiseRun = { events: 0, noise: 0, timed_out: 0, unreadable: 0 };
  const total = countComparable(store.read, sourceKey);
  progress(0, total);
  let before: ComparableEvent | undefined;
  for (;;) {
    const page = comparableEventsOf(store.read, sourceKey, { before, limit: BATCH });
    const found: EventNoise[] = [];
    for (const event of page) {
      if (signal.aborted || event.rules_digest === null) break;
      const judgement = await judgeEvent({ store, deriver }, event.compared, event.scope, 'low');
      const mark = noiseMarkOf(judgement);
      if (mark) found.push({ event: event.id, ...mark, rules_digest: event.rules_digest });
      run.events += 1;
      if (mark?.is_noise) run.noise += 1;
      if (!('noise' in judgement)) run.unreadable += 1;
      else if (isTimedOut(judgement.noise)) run.timed_out += 1;
      progress(run.events, total);
    }
    await store.write((database) => putEventNoise(database, found));
    before = page.at(-1);
    if (signal.aborted || page.length < BATCH) return run;
  }
}

function isTimedOut({ rules, watch }: NoiseFindings): boolean {
  return [watch, ...rules].some((selector) => selector?.outcome === 'timed_out');
}

async function previewRules(
  { store, deriver, diffs }: NoiseConfig,
  sourceKey: number,
  sourceId: string,
  { event: eventId, ...scope }: NewNoisePreview,
): Promise<NoisePreview> {
  await requireValidScope(scope, '/rules');
  const total = countComparable(store.read, sourceKey);
  if (eventId !== undefined) {
    const event = comparableEvent(store.read, eventId);
    if (event?.source_id !== sourceId) {
      throw new Problem('invalid_field', '/event: This is not a change of this source.', {
        errors: [{ path: '/event', message: 'This is not a change of this source.' }],
      });
    }
    const diff = await diffs.diffWith(event, scope);
    const { id, observed_at } = event;
    return {
      total,
      newest: null,
      events: [{ event: id, observed_at, noise: diff.noise, problem: null }],
      diff,
    };
  }
  const newest = newestVersion(store.read, sourceKey, scope.watch);
  const version = newest === undefined ? undefined : await readVersion({ store, deriver }, newest, scope);
  const events: NoisePreview['events'] = [];
  const deadline = performance.now() + PREVIEW_MS;
  for (const event of comparableEventsOf(store.read, sourceKey, { limit: MAX_PREVIEWED })) {
    if (performance.now() > deadline) break;
    const seen = withScope(event, scope);
    const judgement = await judgeEvent({ store, deriver }, seen.compared, seen.scope, 'normal');
    const { id, observed_at } = event;
    events.push(
      'noise' in judgement
        ? { event: id, observed_at, noise: judgement.noise, problem: null }
        : { event: id, observed_at, noise: null, problem: judgement.problem },
    );
  }
  return { total, newest: version ?? null, events, diff: null };
}

const JUDGE_TIMEOUT_MS = 15_000;

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
async function judgeEvent(
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
async function readVersion(
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

async function findChoices(
  { store, deriver }: NoiseConfig,
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

async function checkConditions(
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
function noiseMarkOf(judgement: Judgement): Mark | undefined {
  if (!('noise' in judgement)) return judgement.isIntact ? { is_noise: false, outside: false } : undefined;
  const { is_noise, outside } = judgement.noise;
  return is_noise === null ? undefined : { is_noise, outside };
}

/** Events looked up at a time. */
const PAGE = 1_000;
/** The position is written at least once per this many events, so that a restart repeats little work. */
const WRITE_EVERY = 10_000;

/** Watched parts looked up at a time. */
const PARTS = 200;

type PartToSeek = Pick<WatchedPart, 'key' | 'watch'> & { sha256: string };

/** Judges new changes in the background, once the store is idle, and looks for watched parts in new versions. */
class NoiseFollower {
  readonly #store: Store;
  readonly #deriver: Deriver;
  readonly #log: Log;
  readonly #idleMonitor: IdleMonitor;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** Versions that could not be read, in which a part was to be looked for. */
  readonly #unread = new Set<string>();
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
    const name = JSON.stringify([key, sha256, watch]);
    if (this.#unread.has(name)) return;
    if (sha256 === NO_PICTURE) return this.#recordSearch({ key, watch, sha256 }, false);
    const services = { store: this.#store, deriver: this.#deriver };
    const version = await readVersion(services, sha256, { watch, rules: [] }, 'low');
    const { outcome, found } = version?.watch ?? {};
    if (!found || outcome === 'timed_out' || outcome === 'failed') {
      this.#unread.add(name);
      return;
    }
    await this.#recordSearch({ key, watch, sha256 }, found.to > 0);
  }

  #recordSearch({ key, watch, sha256 }: PartToSeek, isFound: boolean): Promise<void> {
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

const SENTENCES: Record<Selector['kind'], string> = {
  selector: 'This is not a CSS selector.',
  xpath: 'This is not an XPath of nodes, such as //table[2]//td[3].',
  heading: 'This is not a heading.',
  table: 'This is not a table.',
  region: 'This is not a region of a picture.',
  pattern: 'This is not a JavaScript regular expression.',
  json_path: 'This is not a JSONPath (RFC 9535), such as $.meta.generated_at.',
};

/**
 * Requires the values of the watched part and of every rule to be valid for their kinds.
 *
 * @param path JSON Pointer to the list of rules in the request body
 * @throws Problem `invalid_field` with a pointer to each invalid value.
 */
export async function requireValidScope({ watch, rules }: Scope, path: string): Promise<void> {
  if (watch === null && rules.length === 0) return;
  // Loaded with the first selector, because the parsers are large.
  const { canCompile } = await import('./selectors.ts');
  const selectors: [path: string, selector: Selector][] = rules.map((rule, index) => [
    `${path}/${index}/value`,
    rule,
  ]);
  if (watch) selectors.unshift([`/watch/${Object.keys(watch)[0]}`, selectorOf(watch)]);
  // Only the first is looked for, because trying a hostile one takes its time.
  const wrong = selectors.find(([, selector]) => !canCompile(selector));
  if (!wrong) return;
  const [at, { kind }] = wrong;
  const message = SENTENCES[kind];
  throw new Problem('invalid_field', `${at}: ${message}`, { errors: [{ path: at, message }] });
}
