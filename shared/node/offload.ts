import { z } from 'zod';
import { digestSchema } from '../values/digest.ts';
import { instantSchema } from '../values/text.ts';
import { copyIdSchema } from './copy.ts';

/** Where objects are stored: on this disk, and only in copies. */
export const offloadStateSchema = z
  .strictObject({
    /** Offloaded objects, and their bytes. Reading them needs a copy that can be reached. */
    offloaded_objects: z.int().min(0),
    offloaded_bytes: z.int().min(0),
    /** The bytes of the objects on this disk. */
    local_bytes: z.int().min(0),
    /** Bytes of offloaded objects, kept for the next reader. They can be deleted at any time. */
    cached_bytes: z.int().min(0),
    /** For each copy, the offloaded objects that only this copy is known to hold. */
    only_in: z.array(z.strictObject({ copy: copyIdSchema, target: z.string(), objects: z.int().min(0) })),
  })
  .meta({ id: 'OffloadState' });
export type OffloadState = z.output<typeof offloadStateSchema>;

/** What was offloaded. */
export const offloadResultSchema = z
  .strictObject({
    objects: z.int().min(0),
    bytes: z.int().min(0),
    /** Objects that stayed, because the copy did not give them back intact. */
    refused: z.int().min(0),
  })
  .meta({ id: 'OffloadResult' });
export type OffloadResult = z.output<typeof offloadResultSchema>;

/** What came back to this disk. */
export const bringBackResultSchema = z
  .strictObject({
    objects: z.int().min(0),
    bytes: z.int().min(0),
    /** Objects that no copy gave back intact. */
    missing: z.int().min(0),
  })
  .meta({ id: 'BringBackResult' });
export type BringBackResult = z.output<typeof bringBackResultSchema>;

/** The places that hold an object. */
export const objectPlacesSchema = z
  .strictObject({
    sha256: digestSchema,
    bytes: z.int().min(0),
    /** Whether its file is on this disk. */
    is_here: z.boolean(),
    copies: z.array(
      z.strictObject({
        copy: copyIdSchema,
        target: z.string(),
        /** When it was last read back from there and hashed, or null. */
        checked_at: instantSchema.nullable(),
      }),
    ),
  })
  .meta({ id: 'ObjectPlaces' });
export type ObjectPlaces = z.output<typeof objectPlacesSchema>;
