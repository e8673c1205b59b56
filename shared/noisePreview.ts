import { z } from 'zod';
import { diffSchema } from './diff.ts';
import { noiseFindingsSchema, noiseRulesSchema } from './noise.ts';
import { instantSchema } from './text.ts';

export const newNoisePreviewSchema = z
  .strictObject({
    rules: noiseRulesSchema,
    /** The event id of one change of the source, to get its diff under these rules. */
    event: z.int().min(1).optional(),
  })
  .meta({ id: 'NewNoisePreview' });
export type NewNoisePreview = z.output<typeof newNoisePreviewSchema>;

export const noisePreviewSchema = z
  .strictObject({
    /** The total number of changes of the source. */
    total: z.int(),
    /** The effect of the rules on the newest changes, or on the requested one; newest first. */
    events: z.array(
      z.strictObject({
        event: z.int(),
        observed_at: instantSchema,
        /** Null if the rules could not be applied; `problem` says why. */
        noise: noiseFindingsSchema.nullable(),
        problem: z.string().nullable(),
      }),
    ),
    /** The diff of the requested event. */
    diff: diffSchema.nullable(),
  })
  .meta({ id: 'NoisePreview' });
export type NoisePreview = z.output<typeof noisePreviewSchema>;

/** The result of the job that applies noise rules to past changes. */
export interface NoiseRun {
  /** Changes that were examined. */
  events: number;
  noise: number;
  /** Changes on which a rule took too long. */
  timed_out: number;
  /** Changes whose versions could not be read. */
  unreadable: number;
}
