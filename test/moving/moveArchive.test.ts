import { readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { checkMove } from '../../server/moving/archivePlace.ts';
import { type MoveOptions, moveArchive } from '../../server/moving/moveArchive.ts';
import { openStore } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { problemOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { runCommand } from '../support/cli.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

const BYTES = 'The bytes of the pack.';

/** Creates an archive with one pack, whose node was closed. */
async function closedArchive() {
  const node = await openTestNode();
  const pack = await uploadNewPack(node, {}, { 'a.txt': BYTES });
  await node.close();
  const parent = await temporaryFolder();
  return { from: node.dataFolder, to: join(parent, 'moved'), parent, pack, token: node.token };
}

const move = (from: string, to: string, more: Partial<MoveOptions> = {}) =>
  moveArchive({
    from,
    to,
    clock: systemClock,
    signal: new AbortController().signal,
    progress: () => {},
    ...more,
  });

const namesIn = async (folder: string) => (await readdir(folder)).sort();

describe('a moved archive', () => {
  test('opens at its new place with everything in it, and the old folder says where it is', async () => {
    const { from, to, pack, token } = await closedArchive();
    const steps: [number, number][] = [];
    const moved = await move(from, to, { progress: (...step) => void steps.push(step) });
    expect(moved).toMatchObject({ to, damaged: [] });
    expect(steps.at(-1)).toEqual([2 * moved.bytes, 2 * moved.bytes]);
    expect((await stat(join(to, 'key'))).mode & 0o777).toBe(0o600);
    expect((await stat(to)).mode & 0o777).toBe(0o700);

    const elsewhere = `The archive was moved from ${from} to ${to} on `;
    await expect(openStore({ folder: from, clock: systemClock })).rejects.toThrow(elsewhere);
    for (const command of ['audit', 'export']) {
      const refused = await runCommand([command, '--data', from]);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(elsewhere) });
    }

    const node = await openTestNode({ dataFolder: to });
    expect(node.token).toBe(token);
    expect(await (await node.fetch(`/api/packs/${pack.id}`)).json()).toMatchObject({ id: pack.id });
    expect(await (await node.fetch(`/api/blobs/${sha256Of(BYTES)}`)).text()).toBe(BYTES);
    expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });

    // The old folder stays until the owner confirms its removal.
    const place = async () => (await node.fetchAsOwner('/manage/data-folder')).json();
    expect((await node.fetch('/manage/data-folder')).status).toBe(401);
    expect(await place()).toMatchObject({ folder: to, moved_from: { folder: from, exists: true } });
    const remove = () => node.fetchAsOwner('/manage/data-folder/old', { method: 'DELETE' });
    expect((await remove()).status).toBe(204);
    await expect(stat(from)).rejects.toThrow('ENOENT');
    expect(await place()).toEqual({ folder: to, moved_from: null });
    expect(await problemOf(remove())).toMatchObject({ status: 404, code: 'not_found' });
    expect((await node.sendJson('POST', '/api/nodes', { path: 'more', title: 'More' })).status).toBe(201);
  });

  test('removes no other folder that has the place of the old one meanwhile', async () => {
    const { from, to } = await closedArchive();
    await move(from, to);
    await rename(from, `${from}-elsewhere`);
    await mkdir(from);
    await writeFile(join(from, 'letter.txt'), 'not of the archive');
    const node = await openTestNode({ dataFolder: to });
    const remove = () => node.fetchAsOwner('/manage/data-folder/old', { method: 'DELETE' });
    expect(await problemOf(remove())).toMatchObject({ status: 409, code: 'not_the_old_folder' });
    expect(await namesIn(from)).toEqual(['letter.txt']);
    await rm(from, { recursive: true });
    expect((await remove()).status).toBe(204);
    expect(await namesIn(`${from}-elsewhere`)).toContain('moved.json');
  });

  test('moves by command, and keeps what was damaged before as it is', async () => {
    const { from, to } = await closedArchive();
    const digest = sha256Of(BYTES);
    await writeFile(
      join(from, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest),
      'The bytes of the pack!',
    );
    const moved = await runCommand(['move', from, to, '--json']);
    expect(moved.stderr).toBe('');
    expect(JSON.parse(moved.stdout)).toMatchObject({ ok: false, from, to, damaged: [digest] });
    expect(moved.code).toBe(1);
    const removed = await runCommand(['move', '--remove-old', to]);
    expect(removed).toMatchObject({ code: 0, stdout: `${from} was removed.\n` });
    await expect(stat(from)).rejects.toThrow('ENOENT');
  });
});

describe('a move changes nothing', () => {
  test('if the target cannot take the archive', async () => {
    const { from, parent } = await closedArchive();
    const at = (name: string) => join(parent, name);
    await mkdir(at('full'));
    await writeFile(at('full/letter.txt'), 'text');
    await writeFile(at('file'), 'text');
    await symlink(at('full'), at('link'));
    await (await openStore({ folder: at('other'), clock: systemClock })).close();
    await mkdir(at('working.moving'));
    await writeFile(at('working.moving/letter.txt'), 'text');
    await mkdir(at('copy/archive'), { recursive: true });
    await writeFile(at('copy/strongroom.json'), '{}');
    const refused: (readonly [target: string, sentence: string])[] = [
      [at('full'), 'is not empty'],
      [at('file'), 'is a file'],
      [at('link'), 'is a link'],
      [at('other'), 'has another archive'],
      [at('working'), 'already exists'],
      [at('copy/data'), 'is a copy of an archive'],
      [at('copy/archive/data'), 'is a copy of an archive'],
      [at('nowhere/archive'), 'Attach its disk, or create it'],
      [from, 'already in'],
      [join(from, 'inside'), 'inside the archive’s own folder'],
      [join(from, '..'), 'The archive’s folder is inside'],
      ...(process.platform === 'linux' ? [['/dev/shm', 'is the top folder of a disk'] as const] : []),
    ];
    const before = [await namesIn(from), await namesIn(parent)];
    for (const [target, sentence] of refused)
      await expect(move(from, target), target).rejects.toThrow(
        new RegExp(`${sentence}.*Nothing was changed\\.$`),
      );
    expect([await namesIn(from), await namesIn(parent)]).toEqual(before);
    await (await openStore({ folder: from, clock: systemClock })).close();
  });

  test('if this account may not write there', async ({ skip }) => {
    // The superuser may write everywhere.
    skip(process.getuid?.() === 0);
    const { from, to, parent } = await closedArchive();
    await chmod(parent, 0o500);
    await expect(move(from, to)).rejects.toThrow(`This account may not write to ${parent}.`);
    await chmod(parent, 0o700);
  });

  test('if a node has the archive open, or a part of it is a link', async () => {
    const { from, to, parent } = await closedArchive();
    const node = await openTestNode({ dataFolder: from });
    await expect(move(from, to)).rejects.toThrow('Another Strongroom has the data folder');
    expect((await checkMove(from, to)).bytes).toBeGreaterThan(0);
    await node.close();
    await rename(join(from, 'blobs'), join(parent, 'blobs'));
    await symlink(join(parent, 'blobs'), join(from, 'blobs'));
    await expect(move(from, to)).rejects.toThrow(/blobs is a link/);
    expect(await namesIn(parent)).toEqual(['blobs']);
  });

  test('if it is cancelled', async () => {
    const { from, to, parent } = await closedArchive();
    const cancelling = new AbortController();
    await expect(
      move(from, to, { signal: cancelling.signal, progress: () => cancelling.abort() }),
    ).rejects.toThrow('aborted');
    expect(await namesIn(parent)).toEqual([]);
    await (await openStore({ folder: from, clock: systemClock })).close();
  });

  test('if the copy is not what was read', async () => {
    const { from, to, parent } = await closedArchive();
    let isAltered = false;
    // All is copied after half of the work, and then it is read back.
    const alter = (done: number, total: number) => {
      if (isAltered || done < total / 2) return;
      isAltered = true;
      writeFileSync(join(`${to}.moving`, 'key'), readFileSync(join(from, 'head')));
    };
    await expect(move(from, to, { progress: alter })).rejects.toThrow(/was read back with other bytes/);
    expect(await namesIn(parent)).toEqual([]);
    await (await openStore({ folder: from, clock: systemClock })).close();
  });
});
