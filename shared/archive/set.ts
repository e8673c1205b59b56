import { z } from 'zod';
import { MAX_SET_FILES } from '../limits.ts';
import { digestSchema, packIdSchema } from '../values/digest.ts';
import { filePathSchema, type PackRecord } from './pack.ts';

/*
 * A set is data of more than one pack. Its manifest pack has one file, `set.json`, which lists the files of the set and
 * the packs that hold their bytes. docs/sets.md describes the format.
 */

export const SET_FORMAT = 'strongroom-set@1';
/** The only file of a manifest pack. */
export const SET_FILE = 'set.json';

const bytes = z.int().min(0);

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
export const setSchema = z
  .strictObject({
    files: z.array(z.strictObject({ path: filePathSchema, bytes, sha256: digestSchema })),
    packs: z.int().min(1).meta({ description: 'The number of packs that hold the files.' }),
    bytes: bytes.meta({ description: 'The size of all files together.' }),
  })
  .meta({ id: 'Set' });
export type DataSet = z.output<typeof setSchema>;

/** The keyword of a pack that is a part of a set. Lists, searches, feeds and harvests leave such packs out. */
export const PART_KEYWORD = 'strongroom-set-part@1';

/**
 * Returns the id of the set that a pack is a part of, in hex; undefined for any other pack. Only the pack's own record
 * decides: nobody can hide the pack of somebody else by naming it in a set. A part is in no study and below no subject,
 * and replicates and supersedes nothing, so that nothing but lists of packs must leave it out.
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
