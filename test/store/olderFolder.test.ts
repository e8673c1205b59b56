import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { migrate } from '../../server/store/sqlite/engine/migrate.ts';
import { RELEASE_0_1_0 } from '../../server/store/sqlite/engine/migrations/0001-0004.ts';
import { openForWriting } from '../../server/store/sqlite/engine/open.ts';
import { closeAlteredNodes, openTestNode, temporaryFolder } from '../support/node.ts';

afterEach(closeAlteredNodes);

const URL = 'https://old.example/';
const BODY = 'from before';
const SHA256 = createHash('sha256').update(BODY).digest('hex');

/** Creates a data folder of version 0.1.0 with one observation of one source. */
async function oldFolder(): Promise<string> {
  const folder = await temporaryFolder();
  const database = openForWriting(join(folder, 'strongroom.db'));
  migrate(database, RELEASE_0_1_0);
  const id = `so_${createHash('sha256').update(URL).digest('hex').slice(0, 20)}`;
  database.exec(`
    INSERT INTO blobs (sha256, bytes, stored_at) VALUES ('${SHA256}', ${BODY.length}, '2026-01-01T00:00:00.000Z');
    INSERT INTO sources (key, id, url, name, agency, tags, ignore_robots, headers, paused, removed, added_at, revision,
      state, failures, consecutive)
    VALUES (1, '${id}', '${URL}', '', '', '[]', 0, '{}', 0, 0, '2026-01-01T00:00:00.000Z', 1, 'available', 0, 0);
    INSERT INTO retrievals (source_key, url, final_url, redirects, observer, observed_at, status, headers, sha256, bytes,
      duration_ms)
    VALUES (1, '${URL}', '${URL}', '[]', 'self', '2026-01-01T00:00:00.000Z', 200, '[]', '${SHA256}', ${BODY.length}, 5);
  `);
  database.close();
  const file = join(folder, 'blobs', SHA256.slice(0, 2), SHA256.slice(2, 4), SHA256);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, BODY);
  return folder;
}

test('a data folder of 0.1.0 opens, and its observations are served without the data that is unknown', async () => {
  const node = await openTestNode({ dataFolder: await oldFolder() });
  expect(await (await node.fetch(`/archive/${SHA256}`)).text()).toBe(BODY);
  expect(await (await node.fetch(`/memento/20260101000000000/${URL}`)).text()).toBe(BODY);
  const warc = await (await node.fetch('/api/warc')).text();
  expect(warc.match(/(?<=^WARC-Type: )\w+/gm)).toEqual(['warcinfo', 'response', 'metadata']);
  const dump = (await (await node.fetch('/api/dump.jsonl')).text()).split('\n');
  const retrieval = JSON.parse(dump.find((line) => line.startsWith('{"kind":"retrieval"')) ?? '{}') as object;
  expect(retrieval).toMatchObject({ sha256: SHA256, request: null });
});
