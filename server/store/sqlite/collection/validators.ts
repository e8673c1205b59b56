import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** What a server gave to ask it by whether an address still answers with the same object. */
export interface Validators {
  url: string;
  etag: string | null;
  last_modified: string | null;
  sha256: string;
  content_type: string | null;
}

/** The validators of the address that last answered for a source. */
export function validatorsOf(database: ReadDatabase, sourceKey: number): Validators | undefined {
  return statement<Validators>(
    database,
    'SELECT url, etag, last_modified, sha256, content_type FROM validators WHERE source_key = ?',
  ).get(sourceKey);
}

/** Replaces the validators of a source; those of an answer without any are dropped. */
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
