import type { NewNoisePreview, NoisePreview, NoiseRun } from '../../../shared/noisePreview.ts';
import { Problem } from '../../../shared/problems.ts';
import type { JobRun, Jobs, RunningJob } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import {
  type ComparableEvent,
  comparableEvent,
  comparableEventsOf,
  countComparable,
  type EventNoise,
  putEventNoise,
} from '../../store/sqlite/collection/eventNoise.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import type { Store } from '../../store/store.ts';
import type { Deriver } from '../derived/deriver.ts';
import type { Diffs } from '../diff/diffs.ts';
import { judgeEvent, markOf } from './judge.ts';
import { NoiseFollower } from './noiseFollower.ts';
import { requireValidRules } from './requireValidRules.ts';

export interface NoiseConfig {
  store: Store;
  deriver: Deriver;
  diffs: Diffs;
  jobs: Jobs;
  log: Log;
}

/** The noise rules at work. */
export interface Noise {
  /** Begins to look at new changes of sources with rules. */
  startFollowing(): void;
  /** Applies the present rules of a source to all of its past versions. @throws Problem `not_found`. */
  startRun(sourceId: string): RunningJob<NoiseRun>;
  /** Tells what a set of rules would make of a source's changes. @throws Problem `not_found`, `invalid_field`. */
  preview(sourceId: string, asked: NewNoisePreview): Promise<NoisePreview>;
  close(): Promise<void>;
}

/** Events of one go, and marks that are written together. */
const BATCH = 50;
/** A preview looks at so many of the newest changes, as long as it has time. */
const PREVIEWED = 20;
const PREVIEW_MS = 10_000;

/** Opens it; nothing is looked at until it is told to. */
export function openNoise(config: NoiseConfig): Noise {
  const { store, jobs } = config;
  const follower = new NoiseFollower(config);
  return {
    startFollowing: () => follower.start(),
    startRun(sourceId) {
      const key = requireKey(store, sourceId);
      return jobs.start('noise', 'events', (run) => runOverPast(config, key, run));
    },
    preview: (sourceId, asked) => previewRules(config, requireKey(store, sourceId), sourceId, asked),
    close: () => follower.close(),
  };
}

function requireKey({ read }: Pick<Store, 'read'>, id: string): number {
  const source = sourceById(read, id);
  if (!source) throw new Problem('not_found', 'There is no such source.');
  return source.key;
}

async function runOverPast(
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
      const is_noise = markOf(judgement);
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
  { rules, event: asked }: NewNoisePreview,
): Promise<NoisePreview> {
  await requireValidRules(rules, '/rules');
  const total = countComparable(store.read, sourceKey);
  if (asked !== undefined) {
    const event = comparableEvent(store.read, asked);
    if (event?.source_id !== sourceId) {
      throw new Problem('invalid_field', '/event: This is no change of this source.', {
        errors: [{ path: '/event', message: 'This is no change of this source.' }],
      });
    }
    const diff = await diffs.diffWith(event, rules);
    const { id, observed_at } = event;
    return { total, events: [{ event: id, observed_at, noise: diff.noise, problem: null }], diff };
  }
  const events: NoisePreview['events'] = [];
  const deadline = performance.now() + PREVIEW_MS;
  const newest = comparableEventsOf(store.read, sourceKey, { limit: PREVIEWED });
  for (const event of newest) {
    if (performance.now() > deadline) break;
    const judgement = await judgeEvent({ store, deriver }, event, rules, 'asked');
    const { id, observed_at } = event;
    events.push(
      'noise' in judgement
        ? { event: id, observed_at, noise: judgement.noise, problem: null }
        : { event: id, observed_at, noise: null, problem: judgement.problem },
    );
  }
  return { total, events, diff: null };
}
