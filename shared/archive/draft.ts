import { z } from 'zod';
import { MAX_DRAFT_PATH, MAX_PACK_FILES } from '../limits.ts';
import { digestSchema, packIdSchema } from '../values/digest.ts';
import { integerParameter, listQuery, namedObject } from '../values/list.ts';
import { instantSchema, text } from '../values/text.ts';
import { newFilePathSchema, packRecordSchema } from './pack.ts';

/** A draft is a pack that is not published yet. Its record may be incomplete. */
export const draftIdSchema = z.string().regex(/^dr_[0-9a-f]{20}$/, 'A draft id is dr_ and 20 hex digits.');

const { files: _, ...recordFields } = packRecordSchema.shape;

/** The fields of a pack's record but its files, with any values. */
const draftRecordSchema = z
  .strictObject(
    Object.fromEntries(Object.keys(recordFields).map((field) => [field, z.unknown().optional()])) as Record<
      keyof typeof recordFields,
      z.ZodOptional<z.ZodUnknown>
    >,
  )
  .meta({ id: 'DraftRecord' });
export type DraftRecord = z.output<typeof draftRecordSchema>;

/** What a form needs besides the record to show unfinished input again. The node does not read it. */
const formSchema = z.record(z.string(), z.unknown()).nullable();

/** The path of a file that is in a draft. Drafts of earlier releases may have paths that are invalid in a pack. */
const keptPathSchema = text(1, MAX_DRAFT_PATH);
const mediaType = text(1, 255);

const fileSchema = z.strictObject({
  path: keptPathSchema,
  sha256: digestSchema,
  bytes: z.int().min(0),
  media_type: mediaType,
});

export const draftFileSchema = fileSchema
  .extend({
    /** `kept`: in the draft. `archived`: in a pack of the archive. `missing`: to be added again. */
    contents: z.enum(['kept', 'archived', 'missing']),
  })
  .meta({ id: 'DraftFile' });
export type StoredDraftFile = z.output<typeof draftFileSchema>;

export const savedDraftFileSchema = draftFileSchema
  .extend({
    /** The revision of the draft with this file. */
    revision: z.int().min(1),
  })
  .meta({ id: 'SavedDraftFile' });
export type SavedDraftFile = z.output<typeof savedDraftFileSchema>;

export const draftSummarySchema = namedObject('DraftSummary', {
  id: draftIdSchema,
  title: z.string(),
  created_at: instantSchema,
  changed_at: instantSchema,
  /** Rises with every change of the record or the files. */
  revision: z.int().min(1),
  counts: z.strictObject({ files: z.int().min(0), bytes: z.int().min(0) }),
  /** The pack that it was published as; null for a draft that is not published. */
  pack: packIdSchema.nullable(),
});
export type DraftSummary = z.output<typeof draftSummarySchema>;

export const draftSchema = draftSummarySchema
  .extend({ record: draftRecordSchema, form: formSchema, files: z.array(draftFileSchema) })
  .meta({ id: 'Draft' });
export type StoredDraft = z.output<typeof draftSchema>;

export const draftsQuery = z.strictObject(listQuery);

/** With `id`, a request that is repeated after a lost answer creates no second draft. */
export const newDraftSchema = z.strictObject({
  id: draftIdSchema.optional(),
  record: draftRecordSchema.default({}),
  form: formSchema.default(null),
});
export type NewDraft = z.output<typeof newDraftSchema>;

/** Replaces the record. With `revision`, only if nobody changed the draft since that revision was read. */
export const draftChangeSchema = z.strictObject({
  record: draftRecordSchema,
  form: formSchema.default(null),
  revision: z.int().min(1).optional(),
});
export type DraftChange = z.output<typeof draftChangeSchema>;

export const publishDraftQuery = z.strictObject({
  revision: integerParameter(1, Number.MAX_SAFE_INTEGER).optional(),
});

export const draftFileQuery = z.strictObject({ path: newFilePathSchema, media_type: mediaType.optional() });

const paths = z.array(keptPathSchema).max(MAX_PACK_FILES).default([]);

/** Changes of the list of files, applied together: first `remove`, then `rename`, then `add`. */
export const draftFilesChangeSchema = z.strictObject({
  remove: paths,
  rename: z
    .array(z.strictObject({ from: keptPathSchema, to: newFilePathSchema }))
    .max(MAX_PACK_FILES)
    .default([]),
  /** Files whose contents the archive has, such as those of the previous version. */
  add: z
    .array(fileSchema.extend({ path: newFilePathSchema }))
    .max(MAX_PACK_FILES)
    .default([]),
});
export type DraftFilesChange = z.output<typeof draftFilesChangeSchema>;
