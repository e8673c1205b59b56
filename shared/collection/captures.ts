import { z } from 'zod';
import { httpUrlSchema, text } from '../values/text.ts';
import { SELF } from './event.ts';
import { RETRIEVAL_ERRORS } from './retrieval.ts';

/** The name of the archive that made the captures. */
export const observerSchema = text(1, 100)
  .refine(
    (name) => name.trim().toLowerCase() !== SELF,
    'This name stands for the node itself. Enter the archive’s name.',
  )
  .refine((name) => !/[\p{Cc}\p{Cf}]/u.test(name), 'Control characters are not allowed.')
  .refine((name) => name.trim() === name, 'Remove the spaces at the beginning or the end.');

/** Why a capture was not imported. */
export const CAPTURE_REFUSALS = [
  'not_http',
  'malformed_url',
  'credentials_in_url',
  'malformed_date',
  'malformed_http',
  'unsupported_encoding',
  'not_get',
  'truncated',
  'segmented',
  'too_large',
  'digest_mismatch',
  'unresolved_revisit',
  'no_room',
  'damaged',
  'file_too_large',
  'no_memento',
  'beyond_limit',
  'host_held',
  'cancelled',
] as const;
export type CaptureRefusal = (typeof CAPTURE_REFUSALS)[number] | (typeof RETRIEVAL_ERRORS)[number];

export const captureResultSchema = z
  .strictObject({
    /** Captures recorded. */
    captures: z.int(),
    /** Captures already held, with the same observer, address, time and digest. */
    already_held: z.int(),
    /** Records that are not captures: requests, metadata, descriptions of the file. */
    skipped: z.int(),
    /** The events that the captures created, in order. */
    events: z.array(z.int()),
    refused: z.array(
      z.strictObject({ reason: z.enum([...CAPTURE_REFUSALS, ...RETRIEVAL_ERRORS]), count: z.int().min(1) }),
    ),
  })
  .meta({ id: 'CaptureResult' });
export type CaptureResult = z.output<typeof captureResultSchema>;

/** Mementos imported by one request, by default and at most. */
export const DEFAULT_MEMENTOS = 1_000;
export const MAX_MEMENTOS = 10_000;

/** A date or an instant (RFC 3339). */
const moment = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

export const mementoImportSchema = z
  .strictObject({
    /** The address of the TimeMap (RFC 7089, section 5), in link format or JSON. */
    timemap: httpUrlSchema,
    from: moment.optional(),
    to: moment.optional(),
    limit: z
      .int()
      .min(1, 'At least 1.')
      .max(MAX_MEMENTOS, `At most ${MAX_MEMENTOS}.`)
      .default(DEFAULT_MEMENTOS),
    ignore_robots: z.boolean().default(false),
  })
  .meta({ id: 'MementoImport' });
export type MementoImport = z.output<typeof mementoImportSchema>;
