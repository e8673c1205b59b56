import { existsSync } from 'node:fs';
import { readdir, rmdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isMissing } from '../store/blobs/blobStore.ts';
import { databaseFile } from '../store/files.ts';
import { hasDatabase } from '../store/opening/inspectFolder.ts';
import { requireHere } from '../store/opening/movedFolder.ts';
import { requireCurrentSchema, SchemaMismatchError } from '../store/sqlite/engine/migrate.ts';
import { openForReading } from '../store/sqlite/engine/open.ts';
import { counter } from '../store/sqlite/node/blobs.ts';
import { type OffloadedObjects, offloadedByCopy } from '../store/sqlite/node/offloadedObjects.ts';
import { UsageError } from './command.ts';

/**
 * Returns the absolute path of a data folder that holds an archive.
 *
 * @throws UsageError if the folder holds no archive; MovedFolderError, UnfinishedMoveError if it is elsewhere; MissingDatabaseError if it holds an archive without its database
 */
export function archiveFolder(data: string): string {
  const folder = resolve(data);
  requireHere(folder);
  if (!hasDatabase(folder)) throw new UsageError(`There is no archive in ${folder}.`);
  return folder;
}

/** Removes the folder if it is empty, so that it can be created anew. */
export async function requireEmpty(folder: string): Promise<void> {
  try {
    if ((await readdir(folder)).length > 0) {
      throw new UsageError(`${folder} is not empty; name a new or empty data folder with --data.`);
    }
    await rmdir(folder);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** The objects of a data folder that are not on this disk, and why. */
interface ObjectsNotHere {
  /** How many are in each copy. */
  elsewhere: OffloadedObjects[];
  /** How many were given up for good. */
  released: number;
}

/**
 * Returns how many objects of a data folder are in each copy and not on this disk, and how many were given up. A folder
 * that is no data folder has none, and of one of another version nothing is known.
 */
export function objectsNotIn(folder: string): ObjectsNotHere {
  const nothing = { elsewhere: [], released: 0 };
  const file = databaseFile(folder);
  if (!existsSync(file)) return nothing;
  const database = openForReading(file);
  try {
    requireCurrentSchema(database);
    return { elsewhere: offloadedByCopy(database), released: counter(database, 'released_objects') };
  } catch (error) {
    if (error instanceof SchemaMismatchError) return nothing;
    throw error;
  } finally {
    database.close();
  }
}

/** Says that objects were given up: they are not missing. */
export function describeReleased(objects: number): string {
  const count = objects === 1 ? '1 object was' : `${objects} objects were`;
  return `${count} released: the bytes were given up for good, and nothing of them is missing.`;
}

/** Says where objects are that were not verified, and how to verify them there. */
export function describeOffloaded({ target, objects }: OffloadedObjects): string {
  const count = objects === 1 ? '1 object is' : `${objects} objects are`;
  return `${count} in the copy ${target}, not on this disk. Verify that copy with: strongroom verify ${target}`;
}
