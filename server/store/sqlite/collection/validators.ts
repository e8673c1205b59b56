import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** The HTTP validators of a response, for conditional requests. */
export interface Validators {
  url: string;
  etag: string | null;
  last_modified: string | null;
  sha256: string;
  content_type: string | null;
}

/** Returns the validators of the last response for a source. */
export function validatorsOf(database: ReadDatabase, sourceKey: number): Validators | undefined {
  return statement<Validators>(
    database,
    'SELECT url, etag, last_modified, sha256, content_type FROM validators WHERE source_key = ?',
  ).get(sourceKey);
}

/** Replaces the validators of a source; `undefined` deletes them. */
export function replaceValidators(
  database: WriteDatabase,
  sourceKey: number,
  validators: Validators | undefined,
): void {
  if (validators === undefined) {
    statement(database, 'DELETE FROM validators WHERE source_key = ?').run(sourceKey);
    return;
  }
  statement(
    database,
    `INSERT OR REPLACE INTO validators (source_key, url, etag, last_modified, sha256, content_type)
     VALUES (@source_key, @url, @etag, @last_modified, @sha256, @content_type)`,
  ).run({ ...validators, source_key: sourceKey });
}
