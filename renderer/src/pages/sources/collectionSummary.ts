import { z } from 'zod';
import { type CollectionResult, collectionResultSchema } from '../../../../shared/collection/collection.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { countOf } from '../../format/size.ts';

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
