import { z } from 'zod';
import { booleanParameter, namedObject } from '../values/list.ts';
import { instantSchema, publicUrlSchema, text } from '../values/text.ts';
import { eventsQuery } from './event.ts';
import { BROWSER, isHandedIn, SELF } from './observers.ts';
import { RETRIEVAL_ERRORS } from './retrieval.ts';

/** The name of the archive that made the captures. Earlier versions also allowed `browser`. */
export const recordedObserverSchema = text(1, 100)
  .refine(
    (name) => name.trim().toLowerCase() !== SELF,
    'This name stands for the node itself. Enter the archive’s name.',
  )
  .refine((name) => !/[\p{Cc}\p{Cf}]/u.test(name), 'Control characters are not allowed.')
  .refine((name) => name.trim() === name, 'Remove the spaces at the beginning or the end.');
export const observerSchema = recordedObserverSchema
  .refine(
    (name) => name.toLowerCase() !== BROWSER,
    'This name stands for the node’s own browser. Enter the archive’s name.',
  )
  .refine(
    (name) => !isHandedIn(name.toLowerCase()),
    'Names that begin with “handed-in:” stand for what a person handed in. Enter the archive’s name.',
  );

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

export const captureResultSchema = namedObject('CaptureResult', {
  /** Captures recorded. */
  captures: z.int(),
  /** Captures already held, with the same observer, address, time and digest. */
  already_held: z.int(),
  /** Records that are not captures: requests, metadata, descriptions of the file. */
  skipped: z.int(),
  pages: z.int().optional().meta({ description: 'Only of a WACZ package: how many pages it lists.' }),
  /** The events that the captures created, in order. */
  events: z.array(z.int()),
  refused: z.array(
    z.strictObject({ reason: z.enum([...CAPTURE_REFUSALS, ...RETRIEVAL_ERRORS]), count: z.int().min(1) }),
  ),
});
export type CaptureResult = z.output<typeof captureResultSchema>;

/** Mementos imported by one request, by default and at most. */
export const DEFAULT_MEMENTOS = 1_000;
export const MAX_MEMENTOS = 10_000;

/** A date or an instant (RFC 3339). */
const moment = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

export const mementoImportSchema = namedObject('MementoImport', {
  /** The address of the TimeMap (RFC 7089, section 5), in link format or JSON. */
  timemap: publicUrlSchema,
  from: moment.optional(),
  to: moment.optional(),
  limit: z
    .int()
    .min(1, 'At least 1.')
    .max(MAX_MEMENTOS, `At most ${MAX_MEMENTOS}.`)
    .default(DEFAULT_MEMENTOS),
  ignore_robots: z.boolean().default(false),
});
export type MementoImport = z.output<typeof mementoImportSchema>;

/** A TimeMap as JSON, with the member names used by other web archive tools. */
export const timeMapSchema = namedObject('TimeMap', {
  original_uri: z.string(),
  timegate_uri: z.string(),
  timemap_uri: z.strictObject({ link_format: z.string(), json_format: z.string() }),
  mementos: z.strictObject({
    first: z.strictObject({ datetime: instantSchema, uri: z.string() }),
    last: z.strictObject({ datetime: instantSchema, uri: z.string() }),
    list: z.array(z.strictObject({ datetime: instantSchema, uri: z.string() })),
  }),
});

/** Formats an instant as in the address of a memento: `YYYYMMDDhhmmssmmm`. */
export function mementoTimestamp(instant: string): string {
  return instant.replace(/\D/g, '');
}

/** Selects the attempts in a WARC file, and whether its records are compressed. */
export const warcQuery = eventsQuery
  .pick({ source: true, since: true, until: true })
  .extend({ gzip: booleanParameter.optional() });
export type WarcQuery = z.output<typeof warcQuery>;

/** Selects the attempts in a WACZ package. */
export const waczQuery = eventsQuery.pick({ source: true, since: true, until: true });
export type WaczQuery = z.output<typeof waczQuery>;
