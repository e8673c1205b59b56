import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { RecordImport } from '../../shared/archive/recordImport.ts';
import { CC_BY, md5 } from '../support/network/repositoryRecords.ts';
import { closeRepositoryServers, RepositoryServer } from '../support/network/repositoryServer.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeRepositoryServers();
});

const BYTES = Buffer.from('station,level\n');

async function openRepository(md5Of = md5(BYTES)) {
  const repository = await RepositoryServer.open('zenodo');
  const files = [{ name: 'levels.csv', bytes: BYTES, md5: md5Of }];
  const record = { id: '10001', title: 'Tides', doi: '10.5072/tides.1', license: CC_BY, files };
  repository.add(record);
  return { repository, record, page: repository.origin + repository.landingPath(record) };
}

test('a record becomes a draft in the data folder, or by the node that has it open', async () => {
  const { repository, record, page } = await openRepository();
  const data = join(await temporaryFolder(), 'data');
  const listed = await runHere(['get', page, '--data', data, '--dry-run']);
  expect([listed.code, listed.stderr]).toEqual([0, '']);
  expect(listed.stdout).toMatch(/^planned +14 {2}levels\.csv {2}md5:[0-9a-f]{32}$/m);

  const here = await runHere(['get', page, '--data', data]);
  expect([here.code, here.stderr]).toEqual([0, '']);
  expect(here.stdout).toMatch(
    /^Tides\n10\.5072\/tides\.1 {2}http[^\n]*\nheld .*levels\.csv.*\nThe draft is dr_[0-9a-f]{20}\.\n$/s,
  );

  const node = await openTestNode();
  await node.sendJson('PATCH', '/manage/settings', { doi_resolver: repository.resolver });
  const there = await runHere(['get', `doi:${record.doi}`, '--data', node.dataFolder, '--json']);
  expect([there.code, there.stderr]).toEqual([0, '']);
  const { draft, files } = JSON.parse(there.stdout) as RecordImport;
  expect(files).toMatchObject([{ state: 'held' }]);
  expect((await node.fetchAsOwner(`/manage/drafts/${draft}`)).status).toBe(200);
});

test('a file that is not as stated ends with 1, and what is no record with 2', async () => {
  const { page, repository } = await openRepository(md5(Buffer.from('other')));
  const data = join(await temporaryFolder(), 'data');
  const mismatch = await runHere(['get', page, '--data', data]);
  expect(mismatch.code).toBe(1);
  expect(mismatch.stdout).toMatch(/mismatch .*levels\.csv/);
  expect(mismatch.stdout).toContain('Note: “levels.csv” is not in the draft');
  const nothing = await runHere(['get', `${repository.origin}/nothing`, '--data', data]);
  expect(nothing.code).toBe(2);
  expect(nothing.stderr).toContain('The record cannot be read.');
  expect((await runHere(['get', 'nonsense', '--data', data])).code).toBe(2);
});
