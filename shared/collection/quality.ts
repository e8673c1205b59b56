import { z } from 'zod';
import { PAGE_LABELS, pageLabelSchema } from './event.ts';

/** A page gets a label if the scores of its rules add up to this. */
export const LABEL_SCORE = 100;

/** What one rule found in a response. */
const qualityFindingSchema = z.strictObject({
  rule: z.string().meta({ description: 'The id of the rule, such as `wall.title`.' }),
  label: z.enum(PAGE_LABELS),
  score: z.int().min(1),
  reason: z.string(),
});
export type QualityFinding = z.output<typeof qualityFindingSchema>;

/** How the version of an event was judged when it was recorded, and what the rules find in it now. */
export const eventQualitySchema = z
  .strictObject({
    recorded: pageLabelSchema.nullable().meta({ description: 'The label that the event has.' }),
    found: pageLabelSchema.nullable().meta({ description: 'The label by the rules of this version.' }),
    threshold: z.int().meta({ description: 'The score from which on a page gets the label.' }),
    findings: z.array(qualityFindingSchema),
  })
  .meta({ id: 'EventQuality' });
export type EventQuality = z.output<typeof eventQualitySchema>;
