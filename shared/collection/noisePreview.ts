import { z } from 'zod';
import { instantSchema } from '../values/text.ts';
import { diffSchema } from './diff.ts';
import { noiseFindingsSchema, noiseRulesSchema } from './noise.ts';

export const newNoisePreviewSchema = z
  .strictObject({
    rules: noiseRulesSchema,
    /** The number of one change of the source whose diff under these rules is wanted. */
    event: z.int().min(1).optional(),
  })
  .meta({ id: 'NewNoisePreview' });
export type NewNoisePreview = z.output<typeof newNoisePreviewSchema>;

export const noisePreviewSchema = z
  .strictObject({
    /** The number of changes of the source. */
    total: z.int(),
    /** The findings for the newest changes, newest first, or for the requested one. */
    events: z.array(
      z.strictObject({
        event: z.int(),
        observed_at: instantSchema,
        /** Null if the versions cannot be read; `problem` states why. */
        noise: noiseFindingsSchema.nullable(),
        problem: z.string().nullable(),
      }),
    ),
    /** The diff of the requested event; null if none was requested. */
    diff: diffSchema.nullable(),
  })
  .meta({ id: 'NoisePreview' });
export type NoisePreview = z.output<typeof noisePreviewSchema>;

/** The result of the job that applies the rules to past changes. */
export interface NoiseRun {
  /** Changes examined. */
  events: number;
  noise: number;
  /** Changes for which a rule exceeded its time limit. */
  timed_out: number;
  /** Changes whose versions could not be read. */
  unreadable: number;
}
