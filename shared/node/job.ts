import { z } from 'zod';
import { draftIdSchema } from '../archive/draft.ts';
import { namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

export const jobIdSchema = z.string().regex(/^jo_[0-9a-f]{20}$/, 'A job id is jo_ and 20 hex digits.');

export const jobSchema = namedObject('Job', {
  id: jobIdSchema,
  kind: z.enum([
    'collection',
    'ledger_verification',
    'audit',
    'mirror',
    'import',
    'publish',
    'noise',
    'copy_sync',
    'copy_check',
    'copy_drill',
    'offload',
    'bring_back',
    'mark_lost',
    'repair',
    'deposit',
  ]),
  state: z.enum(['running', 'done', 'failed', 'cancelled']),
  progress: z.strictObject({
    done: z.int(),
    total: z.int().nullable(),
    unit: z.enum(['entries', 'sources', 'bytes', 'objects', 'records', 'events']),
    /** The average units per second since the start. */
    rate: z.number(),
  }),
  draft: draftIdSchema.optional().meta({ description: 'The draft that a job `publish` publishes.' }),
  started_at: instantSchema,
  ended_at: instantSchema.nullable(),
  result: z.unknown(),
  /** The error message if the job failed. */
  error: z.string().nullable(),
  /** The code of the problem for which it failed, if that is one. */
  error_code: z.string().nullable(),
});
export type Job = z.output<typeof jobSchema>;
export type JobKind = Job['kind'];
export type JobUnit = Job['progress']['unit'];
