import { z } from 'zod';
import { countOf } from '../values/counts.ts';
import { digestSchema } from '../values/digest.ts';
import { namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

const DRILL_OUTCOMES = ['restored', 'damaged', 'key_missing', 'no_room', 'unreachable', 'failed'] as const;
export type DrillOutcome = (typeof DRILL_OUTCOMES)[number];

/** How much a drill restored, and how fast. Each object was compared with its digest. */
const restoredSchema = z.strictObject({
  entries: z
    .int()
    .min(0)
    .meta({ description: 'The ledger entries of the copy. All their records were restored.' }),
  objects: z.int().min(0).meta({ description: 'The objects of the sample that are intact in the copy.' }),
  bytes: z.int().min(0).meta({ description: 'The bytes of these objects.' }),
  all_objects: z.int().min(0).meta({ description: 'The objects that a full restore reads.' }),
  all_bytes: z.int().min(0),
  records_per_second: z
    .number()
    .min(0)
    .meta({ description: 'Lines of the dump, verified, for each second.' }),
  bytes_per_second: z.number().min(0).meta({ description: 'Bytes of objects; 0 if the sample was empty.' }),
  full_restore_seconds: z
    .int()
    .min(0)
    .meta({ description: 'How long a full restore would take at this speed: all records and all objects.' }),
});
export type DrillMeasures = z.output<typeof restoredSchema>;

/** A restore drill: a copy that was restored into a temporary folder, verified, compared with the archive and removed. */
export const restoreDrillSchema = namedObject('RestoreDrill', {
  at: instantSchema.meta({ description: 'When it began.' }),
  outcome: z.enum(DRILL_OUTCOMES),
  sentence: z.string().meta({ description: 'What was found, and what to do about it.' }),
  restored: restoredSchema.nullable().meta({ description: 'null if the records could not be restored.' }),
  needed_bytes: z
    .int()
    .min(0)
    .nullable()
    .meta({ description: 'The room that it needs, if there is too little; else null.' }),
});
export type RestoreDrill = z.output<typeof restoreDrillSchema>;

/** A second copy of the archive, in a folder or in a bucket of an S3-compatible object store. */
const copyIdSchema = z.string().regex(/^cp_[0-9a-f]{20}$/, 'A copy id is cp_ and 20 hex digits.');

const target = z
  .string()
  .max(2_000)
  .regex(
    /^(file:\/\/\/|s3:\/\/[^/])/,
    'A copy is in a folder (file:///path) or in a bucket (s3://bucket/prefix).',
  )
  .refine(isPlace, 'This address does not name a place. Write % as %25, ? as %3F and # as %23.');

/** Whether the path of an address can be read, and nothing follows it. */
function isPlace(address: string): boolean {
  const url = URL.parse(address);
  if (!url || url.search !== '' || url.hash !== '') return false;
  try {
    return !decodeURIComponent(url.pathname).includes('\0');
  } catch {
    // Its bytes are no text.
    return false;
  }
}

const pages = z
  .boolean()
  .meta({ description: 'Whether the copy has pages that anyone can read without a node.' });
const publicUrl = z
  .url({ protocol: /^https?$/, abort: true })
  .max(2_000)
  .refine((url) => {
    const { search, hash, username, password } = new URL(url);
    return `${search}${hash}${username}${password}` === '';
  }, 'The address of the pages has no user name, no query and no fragment.')
  .meta({
    description: 'The address under which readers find the copy. Links that must be absolute use it.',
  });

const endpoint = z.url({ protocol: /^https?$/ }).max(2_000);
const region = z.string().min(1).max(100);
const everyMinutes = z.int().min(1).max(43_200);
const credentials = {
  access_key: z.string().min(1).max(500).optional(),
  secret_key: z.string().min(1).max(500).optional(),
};
const areTogether = (given: { access_key?: string | undefined; secret_key?: string | undefined }) =>
  (given.access_key === undefined) === (given.secret_key === undefined);
const NOT_TOGETHER = { message: 'An access key and its secret belong together.', path: ['secret_key'] };

export const newCopySchema = z
  .strictObject({
    target,
    endpoint: endpoint.optional(),
    region: region.optional(),
    ...credentials,
    every_minutes: everyMinutes.optional(),
    pages: pages.optional(),
    public_url: publicUrl.optional(),
  })
  .refine(areTogether, NOT_TOGETHER);
export type NewCopy = z.output<typeof newCopySchema>;

export const copyChangeSchema = z
  .strictObject({
    pages: pages.optional(),
    public_url: publicUrl.nullable().optional(),
    /** null: the usual interval. */
    every_minutes: everyMinutes.nullable().optional(),
    endpoint: endpoint.nullable().optional(),
    region: region.nullable().optional(),
    ...credentials,
  })
  .refine(areTogether, NOT_TOGETHER)
  .meta({ id: 'CopyChange' });
export type CopyChange = z.output<typeof copyChangeSchema>;

export const copySchema = namedObject('Copy', {
  id: copyIdSchema,
  target: z.string(),
  endpoint: z.string().nullable(),
  region: z.string().nullable(),
  every_minutes: z.int().nullable(),
  pages,
  public_url: publicUrl.nullable(),
  /** Whether an access key is kept for it. It is never shown. */
  has_credentials: z.boolean(),
  /** Whether it holds the current key of the archive, encrypted with a passphrase. */
  has_key: z.boolean(),
  /** Whether it holds the key that decrypts sealed findings, encrypted with the same passphrase. */
  has_withheld_key: z.boolean(),
  /** Withheld objects that it does not hold, because readers may look into it. */
  withheld_left_out: z.int().min(0),
  /** Those of them that are in no other copy either. They are only on the disk of the archive. */
  withheld_in_no_copy: z.int().min(0),
  /** Withheld objects that it holds in the clear. A copy without pages does: readers do not look into it. */
  withheld_in_the_clear: z.int().min(0),
  /** Withheld objects that it held in the clear, and that were removed from it. */
  withheld_cleaned: z.int().min(0),
  /** Withheld objects that an earlier version encrypted there and that are nowhere else, so that they are kept. */
  withheld_encrypted: z.int().min(0),
  added_at: instantSchema,
  /** The number of ledger entries that the copy holds. */
  size: z.int(),
  /** The number of ledger entries of this archive that the copy does not hold yet. */
  behind: z.int(),
  synced_at: instantSchema.nullable(),
  checked_at: instantSchema.nullable(),
  /**
   * Why the node does not sync by itself now: this machine has no network, or a metered one. null if it does.
   * A sync that was asked for runs in any case.
   */
  paused: z.enum(['no_network', 'metered']).nullable(),
  /** Why the last sync or check failed; null if it did not. */
  last_error: z.string().nullable(),
  /** The last restore drill from it; null if there was none. */
  last_drill: restoreDrillSchema.nullable(),
  /** The last drill that showed that the archive can be restored from it. */
  proven: restoreDrillSchema.nullable(),
});
export type Copy = z.output<typeof copySchema>;

/** Says that withheld objects are in no copy. @param hasPrivate whether there is a copy without pages, which has not got them */
export function inNoCopySentence(objects: number, hasPrivate: boolean): string {
  const these = countOf(objects, 'withheld object is', 'withheld objects are');
  return `${these} in no copy: ${hasPrivate ? 'sync the one' : 'add one'} without pages.`;
}

/** The passphrase that protects the key in a copy. It is not kept. */
export const copyKeySchema = z.strictObject({
  passphrase: z.string().min(12, 'At least 12 characters.').max(1_000),
});

/** The interval of a copy that has none of its own. */
export const DEFAULT_EVERY_MINUTES = 5;

/** What a sync sent. */
export const copySyncSchema = namedObject('CopySync', {
  objects: z.int(),
  bytes: z.int(),
  /** Ledger entries whose records were sent. */
  records: z.int(),
  /** Pages for readers that were sent. Only if the copy has them. */
  pages: z.int().optional(),
  /** The checkpoint of the copy, as a signed note. */
  checkpoint: z.string(),
  /** Withheld objects that were removed from a copy with pages. */
  withheld_cleaned: z.int().min(0),
  /** Withheld objects that are still in a copy with pages: they were withheld meanwhile, or are intact nowhere else. */
  withheld_in_the_clear: z.int().min(0),
  /** Objects that were given up and are no longer in the copy. */
  released_removed: z.int().min(0),
  /** Whether the bucket may still have older versions of what was removed or replaced. */
  older_versions: z.boolean(),
});
export type CopySync = z.output<typeof copySyncSchema>;

export const copyCheckRequestSchema = z.strictObject({
  /** The number of objects to read back; all if absent. */
  sample: z.int().min(1).optional(),
});

/** What was lost with a copy. */
export const lostCopySchema = namedObject('LostCopy', {
  /** Objects that only the copy held. The ledger records each as damaged. */
  objects: z.int().min(0),
  bytes: z.int().min(0),
  /** Objects that only the copy held and that were still in the cache. They are on this disk again. */
  restored: z.int().min(0),
});
export type LostCopy = z.output<typeof lostCopySchema>;

/** How many files a check names. */
export const MAX_NAMED_FILES = 20;

/** What reading back a copy found. */
export const copyCheckSchema = namedObject('CopyCheck', {
  ok: z.boolean(),
  checked: z.int(),
  /** Files whose bytes were not what they should be. They were sent again. */
  damaged: z.int(),
  missing: z.int(),
  /** Files that are in the place and that no node wrote there. They stay. */
  extra: z.int(),
  /** Files with the bytes of an object that is withheld from readers of the copy, or was given up. The next sync removes objects. */
  exposed: z.int(),
  /** Withheld objects that the copy does not hold, because readers may look into it. */
  withheld: z.int().min(0),
  /** Objects that were given up. No copy need hold them. */
  released: z.int().min(0),
  /** Objects that were damaged on this machine and intact in the copy, and were put back here. */
  restored: z.int(),
  /** The first of the files that were damaged, missing, extra or exposed. */
  wrong: z
    .array(z.strictObject({ path: z.string(), is: z.enum(['damaged', 'missing', 'extra', 'exposed']) }))
    .max(MAX_NAMED_FILES),
});
export type CopyCheck = z.output<typeof copyCheckSchema>;

/** Where objects are stored: on this disk, and only in copies. */
export const offloadStateSchema = namedObject('OffloadState', {
  /** Offloaded objects, and their bytes. Reading them needs a copy that can be reached. */
  offloaded_objects: z.int().min(0),
  offloaded_bytes: z.int().min(0),
  /** The bytes of the objects on this disk. */
  local_bytes: z.int().min(0),
  /** Bytes of offloaded objects, kept for the next reader. They can be deleted at any time. */
  cached_bytes: z.int().min(0),
  /** For each copy, the offloaded objects that only this copy is known to hold. */
  only_in: z.array(z.strictObject({ copy: copyIdSchema, target: z.string(), objects: z.int().min(0) })),
});
export type OffloadState = z.output<typeof offloadStateSchema>;

/** What was offloaded. */
export const offloadResultSchema = namedObject('OffloadResult', {
  objects: z.int().min(0),
  bytes: z.int().min(0),
  /** Objects that stayed, because the copy did not give them back intact. */
  refused: z.int().min(0),
});
export type OffloadResult = z.output<typeof offloadResultSchema>;

/** What came back to this disk. */
export const bringBackResultSchema = namedObject('BringBackResult', {
  objects: z.int().min(0),
  bytes: z.int().min(0),
  /** Objects that no copy gave back intact. */
  missing: z.int().min(0),
});
export type BringBackResult = z.output<typeof bringBackResultSchema>;

/** The places that hold an object. */
export const objectPlacesSchema = namedObject('ObjectPlaces', {
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
});
export type ObjectPlaces = z.output<typeof objectPlacesSchema>;
