import { z } from 'zod';
import { type CollectionResult, collectionResultSchema } from '../../../../shared/collection/collection.ts';
import type { NoiseRun } from '../../../../shared/collection/diff.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { call } from '../../api/client.ts';
import { countOf, formatCount } from '../../format.ts';
import { createJobRun } from '../../state/jobs.ts';

interface CheckedSources {
  /** A description of them: `3 sources`. */
  what: string;
  /** All that are not paused, if omitted. */
  ids?: readonly string[];
}

/** The last check that the owner started. */
export const useCollectionRun = createJobRun(async ({ ids }: CheckedSources) => {
  const job = await call('collect', { body: ids ? { sources: [...ids] } : {} });
  return 'id' in job ? job.id : undefined;
});

const resultSchema: z.ZodType<CollectionResult> = collectionResultSchema;

/** The result of a collection job; undefined until it is known. */
export function collectionResultOf(job: Job | undefined): CollectionResult | undefined {
  const parsed = resultSchema.safeParse(job?.result);
  return parsed.success ? parsed.data : undefined;
}

/** A collection run in one sentence: `3 sources checked: 1 changed, 2 unchanged.` */
export function collectionSummary({
  checked,
  changed,
  unchanged,
  failed,
  observer_offline,
}: CollectionResult): string {
  if (observer_offline) {
    return 'No host could be reached. This machine is probably offline, so no source’s state was changed.';
  }
  if (checked === 0) return 'No sources to check.';
  const parts = [
    changed > 0 && `${changed} new or changed`,
    unchanged > 0 && `${unchanged} unchanged`,
    failed > 0 && `${failed} failed`,
  ].filter((part) => part !== false);
  return `${countOf(checked, 'source')} checked: ${parts.join(', ')}.`;
}

/** The last run of a source's noise rules over its past versions. It is offered when the rules change. */
export const useNoiseRun = createJobRun(
  async (sourceId: string) => (await call('runNoiseRules', { params: { id: sourceId } })).id,
);

function isNoiseRun(result: unknown): result is NoiseRun {
  return typeof result === 'object' && result !== null && 'events' in result && 'noise' in result;
}

/** A run in one sentence: `9 of 12 changes are noise.` */
export function noiseRunSummary(result: unknown): string {
  if (!isNoiseRun(result)) return '';
  const { events, noise, timed_out, unreadable } = result;
  const parts = [
    `${formatCount(noise)} of ${countOf(events, 'change')} ${noise === 1 ? 'is' : 'are'} noise`,
    timed_out > 0 && `a rule took too long on ${countOf(timed_out, 'change')}`,
    unreadable > 0 && `${countOf(unreadable, 'change')} could not be read`,
  ].filter((part) => part !== false);
  return `${parts.join('; ')}.`;
}
