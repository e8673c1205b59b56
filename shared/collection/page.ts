import { z } from 'zod';
import { markMembers } from '../node/withheld.ts';
import { digestSchema, pageIdSchema, sourceIdSchema } from '../values/digest.ts';
import { listQuery, namedObject, pageOf } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';
import { fileDiffSchema } from './diff.ts';
import { watchedUrlSchema } from './source.ts';

/*
 * Page captures: pages as a browser drew them. The browser has no network of its own; the node answers each of its requests,
 * from the web when a page is captured and from the archive when it is drawn again.
 */

/** Why a page capture is not the whole page. */
export const CUT_REASONS = ['time', 'requests', 'bytes', 'height'] as const;
export type CutReason = (typeof CUT_REASONS)[number];

/** Why a request of a page has no answer: the limits of the node, or what failed on the way. */
const requestReason = z.string().meta({
  description:
    'Why there is no answer: an error of a retrieval such as `timeout`, or `method`, `scheme`, `limit`, `navigation`, `private_address` or `not_held`. Null if there is one.',
});

export const pageRequestSchema = namedObject('PageRequest', {
  url: z.string(),
  method: z.string(),
  status: z.int().nullable(),
  /** The kind of resource as the browser names it, in lower case: `document`, `image`, `xhr` and so on. */
  type: z.string(),
  sha256: digestSchema.nullable(),
  bytes: z.int().nullable(),
  from: z.enum(['web', 'archive', 'refused']),
  reason: requestReason.nullable(),
  seconds_off: z.int().optional().meta({
    description:
      'Only where a page was drawn from the archive: how many seconds the capture that answered is from the time of the page.',
  }),
});
export type PageRequest = z.output<typeof pageRequestSchema>;

export const viewportSchema = z.strictObject({ width: z.int(), height: z.int(), scale: z.number() });
export type Viewport = z.output<typeof viewportSchema>;

/** What drawing a page gives, wherever its requests were answered from. */
const drawnPage = {
  id: pageIdSchema,
  source: sourceIdSchema.nullable(),
  url: z.string().meta({ description: 'The address that the page had when it was drawn.' }),
  title: z.string(),
  started_at: instantSchema.meta({ description: 'When drawing began. The clock of the page starts there.' }),
  ended_at: instantSchema,
  browser: z.strictObject({ name: z.string(), version: z.string() }),
  environment: digestSchema.meta({
    description:
      'The digest of what decides how the browser draws: its build, the fonts, the scale and its flags.',
  }),
  seed: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .meta({
      description: 'The seed of the random numbers that the page got.',
    }),
  viewport: viewportSchema,
  outcome: z.enum(['complete', 'cut']),
  reason: z.enum(CUT_REASONS).nullable(),
  document: digestSchema.meta({ description: 'The drawn document as HTML, without scripts.' }),
  text: digestSchema.meta({ description: 'The visible text in reading order.' }),
  picture: digestSchema.meta({ description: 'The picture of the whole page, as PNG.' }),
  requests: z.array(pageRequestSchema),
};

/** A page capture: exactly the fields that the ledger entry `page.captured` covers. */
export const recordedPageSchema = namedObject('RecordedPage', {
  ...drawnPage,
  source: sourceIdSchema,
  retrieval: z.int().min(1).meta({ description: 'The retrieval whose bytes were the document.' }),
  observer: z.string().optional().meta({
    description: 'The peer that captured the page; absent if it was this node.',
  }),
  picture_changed: z.boolean().nullable().meta({
    description: 'Whether the picture differs from that of the capture before it; null for the first.',
  }),
  changed_pixels: z.number().min(0).max(1).nullable().meta({
    description: 'The share of changed pixels; null for the first.',
  }),
});
export type RecordedPage = z.output<typeof recordedPageSchema>;

export const pageCaptureSchema = recordedPageSchema
  .extend({ ledger_entry: z.int().min(1) })
  .meta({ id: 'PageCapture' });
export type PageCapture = z.output<typeof pageCaptureSchema>;

/** A page capture as it is read. The ledger does not cover what is said about its bytes. */
export const markedPageSchema = pageCaptureSchema.extend(markMembers).meta({ id: 'MarkedPageCapture' });

/** A page drawn from the archive alone. It is kept for an hour and is not in the ledger. */
export const archivedDrawSchema = namedObject('ArchivedDraw', {
  ...drawnPage,
  at: instantSchema.meta({
    description: 'The time of the page: each request got the capture nearest to it.',
  }),
  drawn_from: pageIdSchema.nullable().meta({ description: 'The page capture that was drawn again.' }),
  same_picture: z.boolean().nullable().meta({
    description: 'Whether the picture is that of the page capture; null if there is none to compare with.',
  }),
  same_text: z.boolean().nullable(),
  same_environment: z.boolean().nullable().meta({
    description: 'Pictures and texts are promised to be the same only within one environment.',
  }),
  differences: z.array(z.string()).meta({
    description: 'What differs from the page capture, one sentence each: requests, text, picture.',
  }),
});
export type ArchivedDraw = z.output<typeof archivedDrawSchema>;

/** Page captures are listed newest first, without their requests. */
export const listedPageSchema = pageCaptureSchema
  .omit({ requests: true })
  .extend({ request_count: z.int(), missing: z.int().meta({ description: 'Requests without an answer.' }) })
  .meta({ id: 'ListedPage' });
export type ListedPage = z.output<typeof listedPageSchema>;

export const pagesQuery = z.strictObject({
  ...listQuery,
  source: sourceIdSchema.optional(),
  before: z.union([instantSchema, pageIdSchema]).optional().meta({
    description: 'Only captures older than this time or this capture.',
  }),
});
export type PagesQuery = z.output<typeof pagesQuery>;

export const pageListSchema = pageOf(listedPageSchema).meta({ id: 'PageList' });
export type PageList = z.output<typeof pageListSchema>;

export const drawRequestSchema = z.strictObject({
  url: watchedUrlSchema,
  at: z.iso.datetime({ offset: true, error: 'Enter a time such as 2026-11-20T10:14:21Z.' }),
});

export const newPageSchema = z.strictObject({ url: watchedUrlSchema });

/** Addresses that a page asked for and the archive does not hold. */
export const missingSchema = z.strictObject({ urls: z.array(watchedUrlSchema).min(1).max(500) });

const regionSchema = z.strictObject({
  x: z.int(),
  y: z.int(),
  width: z.int(),
  height: z.int(),
  y_before: z.int().meta({ description: 'Where this place is in the older picture, from its top.' }),
});
export type Region = z.output<typeof regionSchema>;

/** How two page captures differ, from the older to the newer. */
export const pageComparisonSchema = namedObject('PageComparison', {
  before: pageIdSchema,
  after: pageIdSchema,
  picture: z.strictObject({
    same: z.boolean(),
    changed_pixels: z.number().min(0).max(1),
    /** In the pixels of the newer picture, top to bottom. */
    regions: z.array(regionSchema),
  }),
  text: fileDiffSchema
    .nullable()
    .meta({ description: 'The differences of the texts; null if they are the same.' }),
  requests: z.strictObject({
    added: z.array(pageRequestSchema),
    removed: z.array(pageRequestSchema),
    changed: z.array(z.strictObject({ before: pageRequestSchema, after: pageRequestSchema })),
  }),
});
export type PageComparison = z.output<typeof pageComparisonSchema>;
