import { z } from 'zod';
import { digestSchema, packIdSchema } from '../values/digest.ts';
import { namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

/** The kind of damage: the file is missing, contains other bytes, or cannot be read. */
export const damageProblemSchema = z.enum(['missing', 'changed', 'unreadable']);
export type DamageProblem = z.output<typeof damageProblemSchema>;

/** Damage to one object, from its discovery to its repair. */
export const damageSchema = namedObject('Damage', {
  sha256: digestSchema,
  /** The size of the intact object. */
  bytes: z.int().min(0),
  problem: damageProblemSchema,
  /** The digest of the bytes found instead, or null if nothing could be read. */
  found: digestSchema.nullable(),
  at: instantSchema,
  /** The ledger entry `object.damaged`. */
  ledger_entry: z.int().min(1),
  restored_at: instantSchema.nullable(),
  /** The ledger entry `object.restored`, or null until the object is repaired. */
  restored_entry: z.int().min(1).nullable(),
});
export type Damage = z.output<typeof damageSchema>;

/** A file of a pack whose object is damaged now. */
export const damagedFileSchema = namedObject('DamagedFile', {
  /** The pack itself, or the part of it that has the file, if it is a set. */
  pack: packIdSchema,
  /** The path in that pack. */
  path: z.string(),
  ...damageSchema.omit({ restored_at: true, restored_entry: true }).shape,
});
export type DamagedFile = z.output<typeof damagedFileSchema>;

/** The known state of the stored bytes. */
export const fixitySchema = namedObject('Fixity', {
  /** When the last audit was completed, or null. */
  last_completed_audit_at: instantSchema.nullable(),
  /** The number of objects that it checked. */
  checked: z.int().min(0),
  /** The number of objects that are damaged now. */
  damaged_objects: z.int().min(0),
  /** The number of objects whose bytes were given up; absent if there are none. They count as neither lost nor damaged. */
  released_objects: z.int().min(1).optional(),
  /** The first 100 damaged objects, sorted by digest. */
  damaged: z.array(
    z.strictObject({
      ...damageSchema.pick({ sha256: true, bytes: true, problem: true, found: true, ledger_entry: true })
        .shape,
      since: instantSchema,
    }),
  ),
});
export type Fixity = z.output<typeof fixitySchema>;

/** The result of SQLite's own check of the database. */
const databaseCheckSchema = z.strictObject({
  ok: z.boolean(),
  /** The first 100 messages of SQLite. */
  findings: z.array(z.string()),
});
export type DatabaseCheck = z.output<typeof databaseCheckSchema>;

/** A file in `lost-and-found/`: a blob that no record refers to. */
export const lostFileSchema = namedObject('LostFile', {
  /** The digest in the original name of the file. */
  sha256: digestSchema,
  bytes: z.int().min(0),
  /** The file name: the digest, with a suffix after a dot if the bytes do not match it or the name was taken. */
  name: z.string(),
});
export type LostFile = z.output<typeof lostFileSchema>;

/** Files under `blobs/` that no record refers to, as found by an audit. */
const lostAndFoundFindings = {
  /** Blobs that no record refers to: their number, and the first 1,000. They were moved to `lost-and-found/`. */
  unnamed_objects: z.int().min(0),
  unnamed: z.array(z.strictObject({ sha256: digestSchema, bytes: z.int().min(0) })),
  /** Files in `lost-and-found/` now: their number, and the first 1,000 by name. */
  lost_and_found_objects: z.int().min(0),
  lost_and_found: z.array(lostFileSchema),
  /** Files and folders under `blobs/` that are not blobs: their number, and the first 1,000 paths. They are not touched. */
  foreign_files: z.int().min(0),
  foreign: z.array(z.string()),
};
export type LostAndFoundFindings = z.output<z.ZodObject<typeof lostAndFoundFindings>>;

/** The result of an audit. */
export const auditResultSchema = namedObject('AuditResult', {
  /** If the database is damaged, nothing else was checked. */
  database: databaseCheckSchema,
  checked: z.int().min(0),
  bytes: z.int().min(0),
  /** Damaged objects: their number, and the first 1,000 sorted by digest. */
  damaged_objects: z.int().min(0),
  damaged: z.array(damageSchema),
  /** Objects that were damaged before and are intact now: their number, and the first 1,000. */
  restored_objects: z.int().min(0),
  restored: z.array(digestSchema),
  /** Objects that were not checked, because they are offloaded; absent if there are none. */
  elsewhere_objects: z.int().min(1).optional(),
  /** Objects whose bytes were given up, which is neither loss nor damage; absent if there are none. */
  released_objects: z.int().min(1).optional(),
  ...lostAndFoundFindings,
});
export type AuditResult = z.output<typeof auditResultSchema>;

/** An audit in the list of audits. */
export const auditSchema = namedObject('Audit', {
  id: z.int().min(1),
  started_by: z.enum(['schedule', 'owner']),
  started_at: instantSchema,
  ended_at: instantSchema.nullable(),
  /** Whether every object was hashed again; false while the audit runs and if it was interrupted. */
  completed: z.boolean(),
  checked: z.int().min(0),
  bytes: z.int().min(0),
  /** The number of new damages found. */
  damaged: z.int().min(0),
  restored: z.int().min(0),
});
export type Audit = z.output<typeof auditSchema>;
