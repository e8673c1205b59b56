import pLimit from 'p-limit';
import type { Conditions } from '../../../shared/alerts/alert.ts';
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
import type { JobRun, Jobs, RunningJob } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { runInThread } from '../../runtime/threads.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import {
  type Change,
  type ComparableEvent,
  comparableEvent,
  comparableEventsOf,
  countComparable,
  type EventNoise,
  newestVersion,
  putEventNoise,
  withScope,
} from '../../store/sqlite/collection/timeline/eventNoise.ts';
import type { Store } from '../../store/store.ts';
import type { Deriver } from '../derived/process/deriver.ts';
import type { Diffs } from '../diff/diffs.ts';
import {
  checkConditions,
  findChoices,
  judgeEvent,
  NoiseFollower,
  noiseMarkOf,
  readVersion,
} from './noiseFollower.ts';
import type { InvalidSelector } from './selectors.ts';

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

const SENTENCES: Record<Selector['kind'], string> = {
  selector: 'This is not a CSS selector.',
  xpath: 'This is not an XPath of nodes, such as //table[2]//td[3].',
  heading: 'This is not a heading.',
  table: 'This is not a table.',
  region: 'This is not a region of a picture.',
  pattern: 'This is not a JavaScript regular expression.',
  json_path: 'This is not a JSONPath (RFC 9535), such as $.meta.generated_at.',
};

const TOO_SLOW = 'The selectors up to this one take too long. Use simpler ones.';

const threads = pLimit(2);

/**
 * Requires the values of the watched part and of every rule to be valid for their kinds.
 *
 * @param path JSON Pointer to the list of rules in the request body
 * @throws Problem `invalid_field` with a pointer to each invalid value.
 */
export async function requireValidScope({ watch, rules }: Scope, path: string): Promise<void> {
  if (watch === null && rules.length === 0) return;
  const selectors: [path: string, selector: Selector][] = rules.map((rule, index) => [
    `${path}/${index}/value`,
    rule,
  ]);
  if (watch) selectors.unshift([`/watch/${Object.keys(watch)[0]}`, selectorOf(watch)]);
  const tried = selectors.map(([, selector]) => selector);
  const invalid = await threads(() => runInThread<InvalidSelector | undefined>('checkSelectors', tried));
  const wrong = invalid && selectors[invalid.index];
  if (!wrong) return;
  const [at, { kind }] = wrong;
  const message = invalid.isSlow ? TOO_SLOW : SENTENCES[kind];
  throw new Problem('invalid_field', `${at}: ${message}`, { errors: [{ path: at, message }] });
}
