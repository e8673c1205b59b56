import { existsSync } from 'node:fs';
import { databaseFile } from '../store/blobs/paths.ts';
import { requireCurrentSchema, SchemaMismatchError } from '../store/sqlite/engine/migrate.ts';
import { openForReading } from '../store/sqlite/engine/open.ts';
import { type AwayObjects, awayObjectsByCopy } from '../store/sqlite/node/offloadedObjects.ts';

/**
 * Returns how many objects of a data folder are in each copy and not on this disk. A folder that is no data folder has
 * none, and of one of another version nothing is known.
 */
export function awayObjectsIn(folder: string): AwayObjects[] {
  const file = databaseFile(folder);
  if (!existsSync(file)) return [];
  const database = openForReading(file);
  try {
    requireCurrentSchema(database);
    return awayObjectsByCopy(database);
  } catch (error) {
    if (error instanceof SchemaMismatchError) return [];
    throw error;
  } finally {
    database.close();
  }
}

/** Says where objects are that were not verified, and how to verify them there. */
export function describeAway({ target, objects }: AwayObjects): string {
  const count = objects === 1 ? '1 object is' : `${objects} objects are`;
  return `${count} in the copy ${target}, not on this disk. Verify that copy with: strongroom verify ${target}`;
}
