import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const FIXTURE = join(import.meta.dirname, '../fixtures', 'older-archive');

/**
 * Creates a data folder of the last version whose ledger did not cover retrievals (schema 10), with the archive of
 * `filledArchive` in `test/dump`: 31 entries and 16 retrievals, without the blobs.
 */
export async function olderArchive(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'strongroom.db'), await unpacked('strongroom.db.gz'));
  await writeFile(join(folder, 'key'), await readFile(join(FIXTURE, 'key')), { mode: 0o600 });
}

/** Returns the dump of that archive, in format 1. */
export async function olderDump(): Promise<string> {
  return (await unpacked('dump.jsonl.gz')).toString('utf8');
}

async function unpacked(name: string): Promise<Buffer> {
  return gunzipSync(await readFile(join(FIXTURE, name)));
}
