import { z } from 'zod';
import { digestSchema } from './digest.ts';
import { instantSchema } from './text.ts';

/** What is wrong with stored bytes: their file is gone, holds other bytes, or cannot be read. */
export const damageProblemSchema = z.enum(['missing', 'changed', 'unreadable']);
export type DamageProblem = z.output<typeof damageProblemSchema>;

/** One damage of one object, from when it was found until its bytes were right again. */
export const damageSchema = z
  .strictObject({
    sha256: digestSchema,
    /** How many bytes the object has. */
    bytes: z.int().min(0),
    problem: damageProblemSchema,
    /** The digest of the bytes that were there instead, or null where there were none to read. */
    found: digestSchema.nullable(),
    at: instantSchema,
    /** The entry `object.damaged`. */
    ledger_entry: z.int().min(1),
    restored_at: instantSchema.nullable(),
    /** The entry `object.restored`, or null while the damage lasts. */
    restored_entry: z.int().min(1).nullable(),
  })
  .meta({ id: 'Damage' });
export type Damage = z.output<typeof damageSchema>;

/** How sound the stored bytes are, as far as it is known. */
export const fixitySchema = z
  .strictObject({
    /** When all stored bytes had last been re-hashed; null where they never were. */
    last_completed_audit_at: instantSchema.nullable(),
    /** How many objects that audit re-hashed. */
    checked: z.int().min(0),
    /** How many objects are damaged now. */
    damaged_objects: z.int().min(0),
    /** The first hundred of them, by their digests. */
    damaged: z.array(
      z.strictObject({
        ...damageSchema.pick({ sha256: true, bytes: true, problem: true, found: true, ledger_entry: true })
          .shape,
        since: instantSchema,
      }),
    ),
  })
  .meta({ id: 'Fixity' });
export type Fixity = z.output<typeof fixitySchema>;

/** What SQLite says of its own file. */
export const databaseCheckSchema = z.strictObject({
  ok: z.boolean(),
  /** The first hundred faults, in SQLite's words. */
  findings: z.array(z.string()),
});
export type DatabaseCheck = z.output<typeof databaseCheckSchema>;

/** A file of `lost-and-found/`: a blob that no row names. */
export const lostFileSchema = z
  .strictObject({
    /** The digest that it was named by. */
    sha256: digestSchema,
    bytes: z.int().min(0),
    /** Its name there: the digest, and more after a dot where its bytes are others, or where it is a second one. */
    name: z.string(),
  })
  .meta({ id: 'LostFile' });
export type LostFile = z.output<typeof lostFileSchema>;

/** What an audit found under `blobs/` that no row names. */
const lostAndFoundFindings = {
  /** How many blobs it found, and the first thousand; they were moved to `lost-and-found/`. */
  unnamed_objects: z.int().min(0),
  unnamed: z.array(z.strictObject({ sha256: digestSchema, bytes: z.int().min(0) })),
  /** How many files lie in `lost-and-found/` now, and the first thousand by their names. */
  lost_and_found_objects: z.int().min(0),
  lost_and_found: z.array(lostFileSchema),
  /** How many files and folders under `blobs/` are no blobs, and the paths of the first thousand; they are left alone. */
  foreign_files: z.int().min(0),
  foreign: z.array(z.string()),
};
export type LostAndFoundFindings = z.output<z.ZodObject<typeof lostAndFoundFindings>>;

/** What re-hashing every stored byte came to. */
export const auditResultSchema = z
  .strictObject({
    /** Where the database is damaged, nothing else was looked at. */
    database: databaseCheckSchema,
    checked: z.int().min(0),
    bytes: z.int().min(0),
    /** How many objects are damaged, and the first thousand of them, by their digests. */
    damaged_objects: z.int().min(0),
    damaged: z.array(damageSchema),
    /** How many were damaged before and are right again, and the first thousand of them. */
    restored_objects: z.int().min(0),
    restored: z.array(digestSchema),
    ...lostAndFoundFindings,
  })
  .meta({ id: 'AuditResult' });
export type AuditResult = z.output<typeof auditResultSchema>;

/** The record of one audit. */
export const auditSchema = z
  .strictObject({
    id: z.int().min(1),
    started_by: z.enum(['schedule', 'owner']),
    started_at: instantSchema,
    ended_at: instantSchema.nullable(),
    /** Whether every object was re-hashed: not while it runs, nor where it was broken off. */
    completed: z.boolean(),
    checked: z.int().min(0),
    bytes: z.int().min(0),
    /** Damages that it found first. */
    damaged: z.int().min(0),
    restored: z.int().min(0),
  })
  .meta({ id: 'Audit' });
export type Audit = z.output<typeof auditSchema>;
