import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Profile } from '../../shared/collection/profile.ts';
import { CANARY, members } from '../collection/profiles/support.ts';
import { closeScriptedWebs, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('a login is kept, used, replaced, listed and removed, in the data folder or by the node that has it open', async () => {
  const web = await ScriptedWeb.open();
  web.script('/', members('mine'));
  const folder = await temporaryFolder();
  const data = join(folder, 'data');
  const file = join(folder, 'cookies.txt');
  await writeFile(
    file,
    `127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t${CANARY}\n.other.example\tTRUE\t/\tTRUE\t0\ta\tb\n`,
  );
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await runHere(['profile', ...words, '--data', data]);
    expect(stdout).not.toContain(CANARY);
    return [code, stdout.trim(), stderr.trim()];
  };
  expect(await run('list')).toEqual([0, 'There are no profiles.', '']);
  expect(await run('add', file)).toEqual([2, '', expect.stringContaining('cookies of 2 sites')]);
  const [code, kept] = await run('add', file, '--site', '127.0.0.1', '--name', 'Mine');
  expect([code, kept]).toEqual([
    0,
    expect.stringMatching(
      /^1 cookie and 0 items of storage of 127\.0\.0\.1 are kept as pf_[0-9a-f]{20}\. 1 of other sites/,
    ),
  ]);
  const id = /pf_[0-9a-f]{20}/.exec(String(kept))?.[0] ?? '';
  expect(await run('use', id, web.url('/'))).toEqual([0, `1 address is watched with ${id}.`, '']);
  expect(await runHere(['check', '--data', data])).toMatchObject({ code: 0 });
  expect(web.requests('/')[0]?.headers.cookie).toBe(`sid=${CANARY}`);
  expect(await run('list')).toEqual([0, `${id}  Mine (127.0.0.1): works, 1 cookie, 1 source`, '']);

  await openTestNode({ dataFolder: data });
  expect(await run('use', id, web.url('/'))).toEqual([0, `1 address is watched with ${id}.`, '']);
  expect((await run('replace', id, file))[0]).toBe(0);
  const listed = JSON.parse(String((await run('list', '--json'))[1])) as Profile[];
  expect(listed).toMatchObject([{ id, state: 'untried', sources: 1 }]);
  expect((await run('remove', id))[0]).toBe(0);
  expect(await run('list')).toEqual([0, 'There are no profiles.', '']);
});

test.each([
  [[], 'Say list'],
  [['add'], 'Say list'],
  [['use', 'pf_1'], 'Say list'],
  [['add', 'none.txt'], 'There is no file none.txt'],
])('%s is refused', async (words, sentence) => {
  const { code, stderr } = await runHere([
    'profile',
    ...words,
    '--data',
    join(await temporaryFolder(), 'data'),
  ]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
});
