import type { NewNoisePreview, NoisePreview, NoiseRun } from '../../../shared/collection/diff.ts';
import type { NoiseFindings, NoiseRule } from '../../../shared/collection/noise.ts';
import { Problem } from '../../../shared/problems.ts';
import type { DamageContext } from '../../fixity/audit.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { JobRun, Jobs, RunningJob } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import {
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
import { isPermanent, NotDerivableError } from '../derived/process/tasks.ts';
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

/** The service that applies noise rules to the changes of sources. */
export interface Noise {
  /** Starts applying rules to new changes in the background. */
  startFollowing(): void;
  /** Starts a job that applies the current rules of a source to all of its past changes. @throws Problem `not_found`. */
  startRun(sourceId: string): RunningJob<NoiseRun>;
  /** Shows the effect of a set of rules on a source's changes. @throws Problem `not_found`, `invalid_field`. */
  preview(sourceId: string, request: NewNoisePreview): Promise<NoisePreview>;
  close(): Promise<void>;
}

/** Events read at a time, whose marks are written together. */
const BATCH = 50;
/** Limits on a preview: the newest changes that it covers, and its time. */
const MAX_PREVIEWED = 20;
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
      const judgement = await judgeEvent({ store, deriver }, event, event.rules, 'low');
      const is_noise = noiseMarkOf(judgement);
      if (is_noise !== undefined) found.push({ event: event.id, is_noise, rules_digest: event.rules_digest });
      run.events += 1;
      if (is_noise) run.noise += 1;
      if (!('noise' in judgement)) run.unreadable += 1;
      else if (judgement.noise.rules.some(({ outcome }) => outcome === 'timed_out')) run.timed_out += 1;
      progress(run.events, total);
    }
    await store.write((database) => putEventNoise(database, found));
    before = page.at(-1);
    if (signal.aborted || page.length < BATCH) return run;
  }
}

async function previewRules(
  { store, deriver, diffs }: NoiseConfig,
  sourceKey: number,
  sourceId: string,
  { rules, event: eventId }: NewNoisePreview,
): Promise<NoisePreview> {
  await requireValidRules(rules, '/rules');
  const total = countComparable(store.read, sourceKey);
  if (eventId !== undefined) {
    const event = comparableEvent(store.read, eventId);
    if (event?.source_id !== sourceId) {
      throw new Problem('invalid_field', '/event: This is not a change of this source.', {
        errors: [{ path: '/event', message: 'This is not a change of this source.' }],
      });
    }
    const diff = await diffs.diffWith(event, rules);
    const { id, observed_at } = event;
    return { total, events: [{ event: id, observed_at, noise: diff.noise, problem: null }], diff };
  }
  const events: NoisePreview['events'] = [];
  const deadline = performance.now() + PREVIEW_MS;
  const newest = comparableEventsOf(store.read, sourceKey, { limit: MAX_PREVIEWED });
  for (const event of newest) {
    if (performance.now() > deadline) break;
    const judgement = await judgeEvent({ store, deriver }, event, rules, 'normal');
    const { id, observed_at } = event;
    events.push(
      'noise' in judgement
        ? { event: id, observed_at, noise: judgement.noise, problem: null }
        : { event: id, observed_at, noise: null, problem: judgement.problem },
    );
  }
  return { total, events, diff: null };
}

const JUDGE_TIMEOUT_MS = 15_000;

interface JudgeServices {
  store: DamageContext;
  deriver: Deriver;
}

/** The findings of the rules for an event, or why the versions cannot be read and whether their bytes are intact. */
type Judgement = { noise: NoiseFindings } | { problem: string; isIntact: boolean };

/**
 * Applies rules to the two versions of an event, in the derive process.
 *
 * @throws Problem `derivation_busy`, `shutting_down`.
 */
async function judgeEvent(
  { store, deriver }: JudgeServices,
  event: Pick<ComparableEvent, 'sha256' | 'previous_sha256'>,
  rules: readonly NoiseRule[],
  priority: DeriveOptions['priority'],
): Promise<Judgement> {
  try {
    const noise = await deriver.derive(
      {
        task: 'noise',
        from: objectToRead(store, event.previous_sha256),
        to: objectToRead(store, event.sha256),
        rules,
      },
      { timeoutMs: JUDGE_TIMEOUT_MS, priority },
    );
    return { noise };
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, [event.previous_sha256, event.sha256]);
    return { problem: error.message, isIntact: isPermanent(error.reason) };
  }
}

/**
 * Returns whether to mark an event as noise. An event whose versions cannot be read is not noise. Returns undefined if
 * there are no rules, or if the bytes are missing or damaged, so that the event stays unmarked.
 */
function noiseMarkOf(judgement: Judgement): boolean | undefined {
  if ('noise' in judgement) return judgement.noise.is_noise ?? undefined;
  return judgement.isIntact ? false : undefined;
}

/** Events looked up at a time. */
const PAGE = 1_000;
/** The position is written at least once per this many events, so that a restart repeats little work. */
const WRITE_EVERY = 10_000;

/** Applies noise rules to new changes in the background, once the store is idle. */
class NoiseFollower {
  readonly #store: Store;
  readonly #deriver: Deriver;
  readonly #log: Log;
  readonly #idleMonitor: IdleMonitor;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
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

  async #judge(event: ComparableEvent): Promise<void> {
    const { id, rules, rules_digest } = event;
    const services = { store: this.#store, deriver: this.#deriver };
    const is_noise = noiseMarkOf(await judgeEvent(services, event, rules, 'low'));
    await this.#idleMonitor.write((database) => {
      if (is_noise !== undefined && rules_digest !== null)
        putEventNoise(database, [{ event: id, is_noise, rules_digest }]);
      setLastJudgedEvent(database, id);
    });
  }
}

const SENTENCES: Record<NoiseRule['kind'], string> = {
  selector: 'This is not a CSS selector.',
  pattern: 'This is not a JavaScript regular expression.',
  json_path: 'This is not a JSONPath (RFC 9535), such as $.meta.generated_at.',
};

/**
 * Requires the value of every rule to be valid for its kind.
 *
 * @param path JSON Pointer to the list of rules in the request body
 * @throws Problem `invalid_field` with a pointer to each invalid value.
 */
export async function requireValidRules(rules: readonly NoiseRule[], path: string): Promise<void> {
  if (rules.length === 0) return;
  // Loaded with the first rule, because the parsers are large.
  const { canCompile } = await import('./ruleRun.ts');
  const errors = rules.flatMap((rule, index) =>
    canCompile(rule) ? [] : [{ path: `${path}/${index}/value`, message: SENTENCES[rule.kind] }],
  );
  const [first] = errors;
  if (first) throw new Problem('invalid_field', `${first.path}: ${first.message}`, { errors });
}
