import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';

afterEach(async () => {
  await closeScriptedWebs();
  await closeTestNodes();
  await closeTestStores();
});

const RECORD = { ...sampleRecord(), title: 'Published' };

/** Replaces what differs from one archive or run to another: folders, ids, digests, times, keys. */
function normalized(text: string, folder: string): string {
  return (
    text
      .replaceAll(folder, 'FOLDER')
      .replace(/\b[a-z]{2}_[0-9a-f]{20}\b/g, 'ID')
      .replace(/\b[0-9a-f]{64}\b/g, 'DIGEST')
      .replace(/\d{4}-\d\d-\d\d(T[\d:.]+Z)?/g, 'TIME')
      .replace(/"(etag|event|seq|size)":\d+/g, '"$1":N')
      .replace(/127\.0\.0\.1:\d+/g, 'HOST')
      .replace(/"checkpoint":"(\\"|[^"])*"/g, '"checkpoint":"C"')
      .replace(/node-[0-9a-f]+/g, 'NODE')
      // A node that runs may record in the background between two commands.
      .replace(/\d+ entries/g, 'N entries')
  );
}

/** Runs the same commands on an archive that a node has open, or that none has. */
async function printedBy(isOpen: boolean): Promise<unknown[]> {
  const folder = await temporaryFolder();
  const data = join(folder, 'data');
  const node = await openTestNode({ dataFolder: data });
  await node.sendJson('PATCH', '/manage/settings', { per_host_pause_ms: 0, retry_delays_seconds: [] });
  const { id } = await uploadNewPack(node, sampleRecord(), { 'a.csv': 'x,y\n1,2\n' });
  if (!isOpen) await node.close();

  const web = await ScriptedWeb.open();
  web.script('/a', page('one'), page('two'));
  web.script('/gone', page('gone', { status: 404 }));
  const list = join(folder, 'list.csv');
  await writeFile(list, `url,ignore_robots\n${web.url('/a')},true\n${web.url('/gone')},true\nnonsense,\n`);
  const published = join(folder, 'published');
  await mkdir(published);
  await writeFile(join(published, 'data.txt'), 'data');
  await writeFile(join(published, 'pack.json'), JSON.stringify(RECORD));
  const bogus = join(folder, 'bogus.zip');
  await writeFile(bogus, 'PK is not enough');
  const saved = join(folder, 'saved.html');
  await writeFile(saved, '<p>what I saw</p>');
  const file = join(folder, 'whole.zip');
  const there = ['--data', data];
  const commands: string[][] = [
    ['watch', '--list', list],
    ['check'],
    ['check', '--json'],
    ['diff', '1', '2'],
    ['diff', '1', '99'],
    ['cite', id],
    ['cite', id, '--json'],
    ['cite', 'pk_none'],
    ['publish', published],
    ['publish', published, '--json'],
    ['import', bogus],
    ['import', bogus, '--json'],
    ['hand-in', saved, '--url', 'https://saved.example/'],
    ['profile', 'list'],
    ['profile', 'remove', 'pr_00000000000000000000'],
    ['copy', join(folder, 'copy')],
    ['copy', join(folder, 'copy'), '--json'],
    ['copy', join(folder, 'none'), '--mark-lost', '--yes'],
    ['ledger', 'timestamp'],
    ['audit'],
    ['audit', '--json'],
    ['draw', 'https://nowhere.example/', '-o', join(folder, 'drawn.png')],
    ['export', '--out', file],
    ['export', '--out', file],
  ];
  const printed: unknown[] = [];
  for (const command of commands) {
    const { code, stdout, stderr } = await runHere([...command, ...there]);
    printed.push({
      command: normalized(command.join(' '), folder),
      code,
      stdout: normalized(stdout, folder),
      stderr: normalized(stderr, folder),
    });
  }
  return printed;
}

test('what a command prints, and its exit code, do not depend on whether a node has the folder open', async () => {
  const alone = await printedBy(false);
  expect(alone).toEqual(await printedBy(true));
  const codes = alone.map((each) => (each as { code: number }).code);
  expect(new Set(codes)).toEqual(new Set([0, 1, 2]));
});

test('while another command has the folder open, a command says so', async () => {
  const node = await openTestNode();
  await node.close();
  await openTestStore(node.dataFolder);
  const { code, stderr } = await runHere(['profile', 'list', '--data', node.dataFolder]);
  expect(code).toBe(2);
  expect(stderr).toBe(
    `Another Strongroom has the data folder ${node.dataFolder} open. Close it, or name another folder with --data.\n`,
  );
});

test('a connection that is reset amid an answer is said in one sentence, and leaves no file', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.bin': randomBytes(2_000_000) });
  const resetting = createServer((socket) => {
    const through = connect(Number(new URL(node.url).port), '127.0.0.1');
    socket.on('error', () => through.destroy()).pipe(through);
    through.once('data', (first) => {
      socket.write(first.subarray(0, 1_000), () => socket.resetAndDestroy());
      through.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(resetting, 'listening');
  const { port } = resetting.address() as AddressInfo;
  const folder = await temporaryFolder();
  const there = ['--data', node.dataFolder, '--url', `http://127.0.0.1:${port}`];
  const { code, stderr } = await runHere(['export', '--out', join(folder, 'archive.zip'), ...there]);
  resetting.close();
  expect(code).toBe(1);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(stderr).toContain('The node stopped the export');
  expect(await readdir(folder)).toEqual([]);
});
