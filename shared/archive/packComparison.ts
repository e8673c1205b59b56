import { z } from 'zod';
import { digestSchema, packIdSchema } from '../values/digest.ts';
import { namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

const comparedPack = z.strictObject({
  id: packIdSchema,
  title: z.string(),
  version: z.int().min(1),
  digest: digestSchema,
  received_at: instantSchema,
});
export type ComparedPack = z.output<typeof comparedPack>;

export const FILE_CHANGES = ['added', 'changed', 'removed', 'same'] as const;
export type FileChange = (typeof FILE_CHANGES)[number];

const fileSide = z
  .strictObject({ sha256: digestSchema, bytes: z.int().min(0), media_type: z.string() })
  .nullable();

const comparedFile = z.strictObject({
  path: z.string(),
  change: z.enum(FILE_CHANGES),
  /** Null if the pack does not have the file. */
  before: fileSide,
  after: fileSide,
});
export type ComparedFile = z.output<typeof comparedFile>;

const changedField = z.strictObject({
  /** The name of a field of the record, other than `files`. */
  field: z.string(),
  before: z.json(),
  after: z.json(),
});
export type ChangedField = z.output<typeof changedField>;

/** The differences between two packs, which need not be versions of each other. */
export const packComparisonSchema = namedObject('PackComparison', {
  from: comparedPack,
  to: comparedPack,
  /** The fields of the record that differ, in the order of the record. */
  record: z.array(changedField),
  counts: z.strictObject({
    added: z.int(),
    changed: z.int(),
    removed: z.int(),
    same: z.int(),
  }),
  /** The files of both packs, in the order of their paths. */
  files: z.array(comparedFile),
});
export type PackComparison = z.output<typeof packComparisonSchema>;

const withPack = packIdSchema.meta({ description: 'The pack to compare with: the newer version' });

export const comparePacksQuery = z.strictObject({ with: withPack });
export const comparePackFilesQuery = z.strictObject({
  with: withPack,
  path: z.string().min(1).max(1024).meta({ description: 'The path of a file that both packs have' }),
});
