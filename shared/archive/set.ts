import { z } from 'zod';
import { MAX_SET_FILES } from '../limits.ts';
import { releasedReasonSchema, withheldReasonSchema } from '../node/withheld.ts';
import { digestSchema, packIdSchema } from '../values/digest.ts';
import { listQuery, namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';
import { filePathSchema, type PackRecord } from './pack.ts';
import { SET_FILE, SET_FORMAT } from './setManifest.ts';

/*
 * A set is data of more than one pack. Its manifest pack has one file, `set.json`, which lists the files of the set and
 * the packs that hold their bytes. docs/sets.md describes the format.
 */

const bytes = z.int().min(0);
/** The longest path, in UTF-16 code units. */
const MAX_SET_PATH = 1_024;

/** A part of a file: a file of a pack. */
const setPartSchema = z.strictObject({
  pack: packIdSchema,
  path: filePathSchema,
  bytes,
  sha256: digestSchema,
});

/** A file of a set. Its bytes are those of its parts, one after the other. */
const setFileSchema = z.strictObject({
  path: filePathSchema,
  bytes,
  sha256: digestSchema,
  parts: z.array(setPartSchema),
});
export type SetFile = z.output<typeof setFileSchema>;

/** The contents of `set.json`. */
export const setManifestSchema = z.strictObject({
  format: z.literal(SET_FORMAT),
  files: z.array(setFileSchema).min(1, 'A set has at least one file.').max(MAX_SET_FILES),
});
export type SetManifest = z.output<typeof setManifestSchema>;

/** The files of a set, without the packs that hold them. */
export const setSchema = namedObject('Set', {
  files: z.array(z.strictObject({ path: filePathSchema, bytes, sha256: digestSchema })),
  packs: z.int().min(1).meta({ description: 'The number of packs that hold the files.' }),
  bytes: bytes.meta({ description: 'The size of all files together.' }),
});
export type DataSet = z.output<typeof setSchema>;

/** Asks for what is directly in a folder of a set or, with `q`, for the files whose path contains a text. */
export const setEntriesQuery = z.strictObject({
  ...listQuery,
  folder: z
    .string()
    .max(MAX_SET_PATH)
    .default('')
    .meta({ description: 'The path of a folder, without a slash at its end. Default: the top.' }),
  q: z
    .string()
    .max(MAX_SET_PATH)
    .default('')
    .meta({ description: 'Lists the files of the whole set whose path contains this text, in any case.' }),
});
export type SetEntriesQuery = z.output<typeof setEntriesQuery>;

const hiddenFor = <Reason extends z.ZodType>(reason: Reason) =>
  z.strictObject({ reason, since: instantSchema }).optional();

/** What a folder of a set contains. A folder that contains only a folder is joined with it, as `2026/11`. */
export const setEntrySchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('folder'),
      path: z.string(),
      files: z.int().min(1).meta({ description: 'The number of files in it and in the folders below.' }),
      bytes,
    }),
    z.strictObject({
      kind: z.literal('file'),
      path: filePathSchema,
      bytes,
      sha256: digestSchema,
      parts: z.int().min(0).meta({ description: 'The number of parts that its bytes are joined from.' }),
      withheld: hiddenFor(withheldReasonSchema).meta({
        description: 'Why visitors may not read bytes of it.',
      }),
      released: hiddenFor(releasedReasonSchema).meta({ description: 'Why bytes of it were given up.' }),
    }),
  ])
  .meta({ id: 'SetEntry' });
export type SetEntry = z.output<typeof setEntrySchema>;

/** The keyword of a pack that is a part of a set. Lists, searches, feeds and harvests leave such packs out. */
export const PART_KEYWORD = 'strongroom-set-part@1';

/**
 * Returns the id of the set that a pack says it is a part of, in hex; undefined for any other pack. Such a part is in no
 * study and below no subject, and replicates and supersedes nothing, so that nothing but lists of packs must leave it out.
 */
export function setOfPart(
  record: Pick<PackRecord, 'keywords' | 'related' | 'node' | 'study' | 'replicates' | 'supersedes'>,
): string | undefined {
  const { keywords, related, node, study, replicates, supersedes } = record;
  if (keywords[0] !== PART_KEYWORD || keywords.length !== 1) return undefined;
  if (node !== null || study !== null || replicates !== null || supersedes !== null) return undefined;
  const [only, ...others] = related;
  if (only?.relation !== 'IsPartOf' || others.length > 0) return undefined;
  return /^sha256:([0-9a-f]{64})$/.exec(only.identifier)?.[1];
}

/** Returns whether a pack may be the manifest of a set. Its file says whether it is. */
export function mayBeManifest({ files }: Pick<PackRecord, 'files'>): boolean {
  return files.length === 1 && files[0]?.path === SET_FILE;
}
