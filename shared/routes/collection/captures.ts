import { z } from 'zod';
import { captureResultSchema, mementoImportSchema, observerSchema } from '../../collection/captures.ts';
import { jobSchema } from '../../node/job.ts';
import { booleanParameter } from '../../values/list.ts';
import { route } from '../route.ts';

/** Media types of a WARC file. Whether the file is compressed is detected from its first bytes. */
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
    summary: 'Import captures made by a third party',
    description:
      'Send a WARC file, or the address of a TimeMap of an archive that supports Memento (RFC 7089). Each capture is recorded as a retrieval by `observer`: `observed_at` is the time of the import, `original_observed_at` the time of the capture. The response is sent when the import has ended; with `wait=false` it is sent at once and holds the job.',
    query: z.strictObject({ observer: observerSchema, wait: booleanParameter.optional() }),
    body: {
      kind: 'stream' as const,
      mediaTypes: [...WARC_MEDIA_TYPES, 'application/json'],
      json: mementoImportSchema,
    },
    responses: {
      200: { description: 'The result of the import', schema: captureResultSchema },
      202: { description: 'The job that runs the import', schema: jobSchema },
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
