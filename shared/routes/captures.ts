import { z } from 'zod';
import { captureResultSchema, mementoImportSchema, observerSchema } from '../captures.ts';
import { jobSchema } from '../job.ts';
import { booleanParameter } from '../list.ts';
import { route } from './route.ts';

/** What a WARC file is sent as, packed or not: that is seen from its first bytes. */
export const WARC_MEDIA_TYPES = [
  'application/warc',
  'application/warc+gzip',
  'application/gzip',
  'application/x-gzip',
] as const;

export const captureRoutes = {
  importCaptures: route({
    method: 'POST',
    path: '/manage/captures',
    access: 'owner',
    tag: 'Manage',
    summary: 'Import third parties’ captures: a WARC file, or the TimeMap of an archive that speaks Memento',
    description:
      'Each capture becomes a retrieval of the observer named: observed_at is now, original_observed_at the capture’s own time. Answers when all is imported; with wait=false at once, with the job.',
    query: z.strictObject({ observer: observerSchema, wait: booleanParameter.optional() }),
    body: {
      kind: 'stream' as const,
      mediaTypes: [...WARC_MEDIA_TYPES, 'application/json'],
      json: mementoImportSchema,
    },
    answers: {
      200: { description: 'What came of it', schema: captureResultSchema },
      202: { description: 'The import runs as a job', schema: jobSchema },
    },
    problems: [
      'unsupported_media_type',
      'body_too_large',
      'digest_mismatch',
      'invalid_digest_header',
      'invalid_capture',
      'data_cap_reached',
      'disk_nearly_full',
      'shutting_down',
    ],
  }),
};
