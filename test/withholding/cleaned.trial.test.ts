import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { filesWith, release } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { markersInFolder, newMarker } from '../simulate/markers.ts';
import { closeTestNodes, DERIVING, openTestNode, type TestNode } from '../support/node.ts';
import { indexedText, isClean, textsFound } from './support.ts';

/*
 * Once a node says that nothing is left of released bytes, no file of its data folder has a word of them: neither the
 * database, nor its log, nor a temporary file. FTS5 merges the parts of its index at 4 and at 16.
 */

afterEach(closeTestNodes);

const dice = new Dice(35);

function withDatabase<Result>(node: TestNode, read: (database: Database.Database) => Result): Result {
  const database = new Database(join(node.dataFolder, 'strongroom.db'), { readonly: true });
  try {
    return read(database);
  } finally {
    database.close();
  }
}

/** The stored text of an object, as it is compressed in the database. */
const storedText = (node: TestNode, sha256: string) =>
  withDatabase(node, (database) =>
    database.prepare('SELECT content FROM derived_documents WHERE subject = ?').pluck().get(sha256),
  ) as Buffer;

test.each([1, 15, 16, 17, 40])(
  'no file has a word of a released text once it is clean, with %i texts in the index',
  async (count) => {
    const node = await openTestNode(DERIVING);
    const markers = Array.from({ length: count }, () => newMarker(dice));
    const digests: string[] = [];
    for (const marker of markers) digests.push(await indexedText(node, marker));
    const [marker = '', last = ''] = [markers[0], markers.at(-1)];
    const stored = storedText(node, digests[0] ?? '');
    expect(await markersInFolder(node.dataFolder, [marker])).not.toEqual([]);
    await release(node, digests[0] ?? '');
    await isClean(node);
    const left = async () => [
      ...(await markersInFolder(node.dataFolder, [marker])),
      ...withDatabase(node, (database) => database.pragma('integrity_check') as object[]),
      (await filesWith(node.dataFolder, stored)).length,
    ];
    expect(await left()).toEqual([{ integrity_check: 'ok' }, 0]);
    expect((await stat(join(node.dataFolder, 'strongroom.db-wal'))).size).toBeLessThan(100_000);
    expect([await textsFound(node, marker), await textsFound(node, last)]).toEqual([0, count === 1 ? 0 : 1]);
    await node.close();
    expect(await markersInFolder(node.dataFolder, [marker])).toEqual([]);
  },
);
