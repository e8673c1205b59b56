import { z } from 'zod';
import { diffSchema } from './diff.ts';
import { noiseFindingsSchema, noiseRulesSchema } from './noise.ts';
import { instantSchema } from './text.ts';

export const newNoisePreviewSchema = z
  .strictObject({
    rules: noiseRulesSchema,
    /** The number of one change of the source, to see its diff under these rules. */
    event: z.int().min(1).optional(),
  })
  .meta({ id: 'NewNoisePreview' });
export type NewNoisePreview = z.output<typeof newNoisePreviewSchema>;

export const noisePreviewSchema = z
  .strictObject({
    /** How many changes the source has in all. */
    total: z.int(),
    /** What the rules make of the newest changes, or of the one that was asked for; newest first. */
    events: z.array(
      z.strictObject({
        event: z.int(),
        observed_at: instantSchema,
        /** Null where that cannot be told; `problem` says why. */
        noise: noiseFindingsSchema.nullable(),
        problem: z.string().nullable(),
      }),
    ),
    /** The diff of the one event that was asked for. */
    diff: diffSchema.nullable(),
  })
  .meta({ id: 'NoisePreview' });
export type NoisePreview = z.output<typeof noisePreviewSchema>;

/** What a run of the rules over past versions came to; the result of its job. */
export interface NoiseRun {
  /** Changes that were looked at. */
  events: number;
  noise: number;
  /** Changes on which a rule took too long. */
  timed_out: number;
  /** Changes whose versions could not be read. */
  unreadable: number;
}
