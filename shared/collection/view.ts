import { z } from 'zod';
import { markMembers } from '../node/withheld.ts';
import { digestSchema, sourceIdSchema } from '../values/digest.ts';
import { namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

/** How the interface shows an object. */
const VIEW_KINDS = [
  'html',
  'pdf',
  'image',
  'markdown',
  'csv',
  'json',
  'feed',
  'xml',
  'text',
  'other',
] as const;
export type ViewKind = (typeof VIEW_KINDS)[number];

/** Selects one retrieval of an object. Without it, the first retrieval is selected. */
export const viewQuery = z.strictObject({
  source: sourceIdSchema
    .optional()
    .meta({ description: 'The id of the source that the object was retrieved from.' }),
  at: instantSchema.optional().meta({
    description: 'The time of the capture: `original_observed_at` if there is one, else `observed_at`.',
  }),
});
export type ViewQuery = z.output<typeof viewQuery>;

const versionSchema = z.strictObject({ sha256: digestSchema, at: instantSchema });

/** An object as one retrieval brought it, and how it can be shown. */
export const objectViewSchema = namedObject('ObjectView', {
  sha256: digestSchema,
  bytes: z.int().min(0),
  content_type: z.string().nullable(),
  kind: z.enum(VIEW_KINDS),
  /** A name for the downloaded file: the one that the server gave, or one made from the address and the time. */
  file_name: z.string(),
  /** The path of the bytes. If they are stored encoded, it sends them so that a browser decodes them. */
  content: z.string(),
  source: z.strictObject({ id: sourceIdSchema, url: z.string(), name: z.string() }),
  /** The address that the bytes came from, after redirects. */
  final_url: z.string(),
  observer: z.string(),
  observed_at: instantSchema,
  original_observed_at: instantSchema.nullable(),
  /** `original_observed_at` if there is one, else `observed_at`. */
  at: instantSchema,
  /** The HTTP status. */
  status: z.int().nullable(),
  /** The event that recorded this version, if there is one. */
  event: z.int().nullable(),
  /** The nearest other versions of the source, by the time of the capture. */
  older: versionSchema.nullable(),
  newer: versionSchema.nullable(),
  withheld: markMembers.withheld,
});
export type ObjectView = z.output<typeof objectViewSchema>;

const MISSING_REASONS = ['not_held', 'too_large', 'unreadable', 'withheld'] as const;
export type MissingReason = (typeof MISSING_REASONS)[number];

const missingResourceSchema = z.strictObject({ url: z.string(), reason: z.enum(MISSING_REASONS) });
export type MissingResource = z.output<typeof missingResourceSchema>;

/** What an archived page consists of when it is shown. */
export const pageResourcesSchema = namedObject('PageResources', {
  sha256: digestSchema,
  title: z.string().nullable(),
  /** The captures that were put into the page: the nearest in time. */
  used: z.array(z.strictObject({ url: z.string(), sha256: digestSchema, at: instantSchema })),
  /** Images, styles, fonts and recordings that are left out. */
  missing: z.array(missingResourceSchema),
  /** Whether the end of the page is left out because of its length. */
  truncated: z.boolean(),
});
export type PageResources = z.output<typeof pageResourcesSchema>;
