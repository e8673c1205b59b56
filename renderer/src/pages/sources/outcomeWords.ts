import { z } from 'zod';
import { type CollectionResult, collectionResultSchema } from '../../../../shared/collection.ts';
import type { Job } from '../../../../shared/job.ts';
import { countOf } from '../../format/size.ts';

const resultSchema: z.ZodType<CollectionResult> = collectionResultSchema;

/** The result of a collection that ran as a job, or undefined while there is none. */
export function resultOf(job: Job | undefined): CollectionResult | undefined {
  const parsed = resultSchema.safeParse(job?.result);
  return parsed.success ? parsed.data : undefined;
}

/** A round of checks in one sentence: `3 sources checked: 1 changed, 2 unchanged.` */
export function outcomeWords({
  checked,
  changed,
  unchanged,
  failed,
  observer_offline,
}: CollectionResult): string {
  if (observer_offline) {
    return 'No host could be reached, so the fault is taken to be this machine’s own network. No source’s state was touched.';
  }
  if (checked === 0) return 'There was nothing to check.';
  const parts = [
    changed > 0 && `${changed} new or changed`,
    unchanged > 0 && `${unchanged} unchanged`,
    failed > 0 && `${failed} failed`,
  ].filter((part) => part !== false);
  return `${countOf(checked, 'source')} checked: ${parts.join(', ')}.`;
}
