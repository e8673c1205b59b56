import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { migrate } from '../../server/store/sqlite/engine/migrate.ts';
import { openForReading, openForWriting, type WriteDatabase } from '../../server/store/sqlite/engine/open.ts';
import {
  beginSnapshot,
  openSnapshot,
  WriteAheadLog,
} from '../../server/store/sqlite/engine/writeAheadLog.ts';
import { readSetting, writeSetting } from '../../server/store/sqlite/node/owner.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

/*
 * After a failed sync, the next sync may succeed without having written anything. So a new reader cannot find out by
 * itself what is on stable storage.
 */

let writing: WriteDatabase | undefined;
afterEach(async () => {
  writing?.close();
  await closeTestNodes();
});

test('after a failed sync of the log no snapshot can be opened until the log is settled', async () => {
  const file = join(await temporaryFolder(), 'strongroom.db');
  writing = openForWriting(file);
  migrate(writing);
  writeSetting(writing, 'name', 'committed');
  const failing = new WriteAheadLog(file, () => Promise.reject(new Error('EIO: i/o error, fdatasync')));
  await expect(failing.sync()).rejects.toThrow('EIO');
  failing.close();
  await expect(openSnapshot(file)).rejects.toMatchObject({ code: 'storage_failed' });

  const log = new WriteAheadLog(file);
  await log.settle(writing);
  log.close();
  const snapshot = await openSnapshot(file);
  expect(readSetting(snapshot, 'name')).toBe('committed');
  snapshot.close();
});

test('a node whose disk failed refuses dumps, exported lists and verification until it is restarted', async () => {
  const node = await openTestNode();
  await uploadNewPack(node);
  await writeFile(join(node.dataFolder, 'strongroom.db-unsettled'), '');
  for (const path of ['/api/dump.jsonl', '/api/events?format=csv', '/api/warc', '/api/ledger/verify'])
    expect(await problemOf(node.fetch(path)), path).toMatchObject({ status: 503, code: 'storage_failed' });
  await node.close();
  const again = await openTestNode({ dataFolder: node.dataFolder });
  for (const path of ['/api/dump.jsonl', '/api/ledger/verify'])
    expect((await again.fetch(path)).status, path).toBe(200);
});

test('a snapshot that cannot be read leaves no transaction open', async () => {
  const file = join(await temporaryFolder(), 'strongroom.db');
  await writeFile(file, 'This is no database. '.repeat(400));
  const reading = openForReading(file);
  for (const time of ['first', 'second']) {
    expect(() => beginSnapshot(reading), time).toThrow('file is not a database');
    expect(reading.inTransaction, time).toBe(false);
  }
  reading.close();
});
