import type { NewNoisePreview, NoisePreview, NoiseRun } from '../../../shared/collection/noisePreview.ts';
import { Problem } from '../../../shared/problems.ts';
import type { JobRun, Jobs, RunningJob } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import {
  type ComparableEvent,
  comparableEvent,
  comparableEventsOf,
  countComparable,
  type EventNoise,
  putEventNoise,
} from '../../store/sqlite/collection/timeline/eventNoise.ts';
import type { Store } from '../../store/store.ts';
import type { Deriver } from '../derived/process/deriver.ts';
import type { Diffs } from '../diff/diffs.ts';
import { judgeEvent, noiseMarkOf } from './judgeEvent.ts';
import { NoiseFollower } from './noiseFollower.ts';
import { requireValidRules } from './requireValidRules.ts';

export interface NoiseConfig {
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
