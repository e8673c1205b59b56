import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { openCollectingNode } from '../collection/support.ts';
import { codeBlocksOf } from '../support/docs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const run = promisify(execFile);

test('the commands in exports.md work', async () => {
  const node = await openCollectingNode();
  const web = await ScriptedWeb.open();
  web.script('/page?a=1', page('one'), page('two'), page('one'));
  const URL = web.url('/page?a=1');
  const { id: SOURCE } = await node.watch(URL, { ignore_robots: true });
  for (let round = 0; round < 3; round += 1) await node.check();
  const folder = await temporaryFolder();
  for (const [name, program] of await codeBlocksOf('exports.md', 'python'))
    await writeFile(join(folder, name), program);
  const commands = await codeBlocksOf('exports.md', 'sh');
  const env = { PATH: process.env.PATH, NODE: node.node.url, SOURCE, URL };
  const output = async (name: string) =>
    (await run('sh', ['-ec', commands.get(name) ?? 'exit 9'], { cwd: folder, env })).stdout;

  await output('export');
  expect(await output('check')).toBe('10 records hold\n');
  expect(await output('timegate')).toMatch(/^(one|two)$/);
  expect(await output('events')).toBe('changed changed first_seen\n');

  const file = join(folder, 'source.warc.gz');
  const altered = gunzipSync(await readFile(file))
    .toString('latin1')
    .replace('\r\n\r\ntwo', '\r\n\r\ntow');
  await writeFile(file, gzipSync(Buffer.from(altered, 'latin1')));
  await expect(output('check')).rejects.toThrow(/CHANGED "<urn:uuid:/);
});
