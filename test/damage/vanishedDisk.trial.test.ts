import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { end, type ServedNode, serveNode } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { isInstalled, requireThat } from '../support/requirements.ts';
import { addPackTo } from './support.ts';

/* A real file system on a loop device, which is taken away below a node. `vitest.trials.config.ts` asks for root on Linux. */
const DISK_BYTES = 67_108_864;
let image = '';
let disk = '';
let whyNot: string | undefined = 'Install mkfs.ext4 (e2fsprogs) to run this test.';
let node: ServedNode | undefined;

const mountDisk = () => execFileSync('mount', ['-o', 'loop', image, disk], { stdio: 'pipe' });
/** As when a disk is pulled out and the system takes it away: the names vanish, and open files stay open. */
const takeDiskAway = () => execFileSync('umount', ['--lazy', disk], { stdio: 'pipe' });

beforeAll(async () => {
  if (!(await isInstalled('mkfs.ext4'))) return;
  const folder = await temporaryFolder();
  [image, disk] = [join(folder, 'image'), join(folder, 'disk')];
  await mkdir(disk);
  await writeFile(image, '');
  await truncate(image, DISK_BYTES);
  execFileSync('mkfs.ext4', ['-q', image]);
  try {
    mountDisk();
    whyNot = undefined;
  } catch (error) {
    whyNot = `Run this container with the right to mount file systems: ${String(error)}`;
  }
});
afterEach(async () => {
  if (node?.child.exitCode === null) await end(node, 'SIGKILL');
});
afterAll(async () => {
  if (whyNot === undefined) execFileSync('umount', [disk], { stdio: 'pipe' });
  await closeTestNodes();
});

test('a node whose disk is taken away stops, says so, and has all that it acknowledged when it is back', async ({
  skip,
}) => {
  requireThat(whyNot === undefined, whyNot ?? '', skip);
  const served = (node = await serveNode(join(disk, 'data')));
  const token = await readFile(served.token_file, 'utf8');
  const send = (method: string, path: string, body: unknown) =>
    fetch(new URL(path, served.url), {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const read = async (path: string) => {
    const response = await fetch(new URL(path, served.url));
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  expect((await send('PATCH', '/manage/settings', { min_free_disk_gb: 0 })).status).toBe(200);
  const pack = await addPackTo(served, 'kept');

  for (const round of ['first', 'second']) {
    const acknowledged: string[] = [];
    /** Adds subjects until one is refused. */
    const writeUntilRefused = async (): Promise<unknown> => {
      for (let number = 0; ; number += 1) {
        const path = `${round}-${number}`;
        const answer = await send('POST', '/api/nodes', { path, title: path });
        if (answer.status !== 201) return answer.json();
        acknowledged.push(path);
      }
    };
    const refused = writeUntilRefused();
    await eventually(() => expect(acknowledged.length).toBeGreaterThan(20));
    takeDiskAway();
    expect(await refused).toMatchObject({ status: 503, code: 'data_folder_away' });
    expect((await read('/api/health')).status).toBe(200);
    expect((await read(`/api/packs/${pack.id}`)).body).toMatchObject({ code: 'data_folder_away' });
    // The system detaches the device once the node has closed every file.
    await eventually(() => expect(execFileSync('losetup', ['-j', image]).toString()).toBe(''));
    expect(await readdir(disk)).toEqual([]);

    mountDisk();
    await eventually(async () => expect((await read(`/api/packs/${pack.id}`)).status).toBe(200));
    for (const path of acknowledged) expect((await read(`/api/nodes/${path}`)).status, path).toBe(200);
    expect((await read('/api/ledger/verify')).body).toMatchObject({ ok: true });
    expect((await read(`/api/packs/${pack.id}/verify`)).body).toMatchObject({ ok: true });
    expect((await send('POST', '/api/nodes', { path: `${round}-later`, title: 'Later' })).status).toBe(201);
  }
  expect(served.child.exitCode).toBeNull();
  expect(await end(served, 'SIGTERM')).toBe(0);
});
