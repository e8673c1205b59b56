import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { checkOpening } from '../../server/ledger/openArchive.ts';
import { readDataFolder } from '../../server/moving/archivePlace.ts';
import { moveArchive } from '../../server/moving/moveArchive.ts';
import { openStore } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { runCommand } from '../support/cli.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { requireThat } from '../support/requirements.ts';

afterEach(closeTestNodes);

const BYTES = 'The bytes of the pack.';
/** Each step starts a process. */
const KILLS_TIMEOUT_MS = 900_000;
const KILL_AT_STEP = new URL('../copies/killAtStep.ts', import.meta.url).href;

async function archive(): Promise<string> {
  const node = await openTestNode();
  await uploadNewPack(node, {}, { 'a.txt': BYTES });
  await node.close();
  return node.dataFolder;
}

async function opens(folder: string): Promise<boolean> {
  const known = await readdir(folder).catch((): string[] => []);
  if (!known.includes('strongroom.db')) return false;
  return checkOpening({ folder, clock: systemClock }).then(
    () => true,
    () => false,
  );
}

const move = (from: string, to: string) =>
  moveArchive({ from, to, clock: systemClock, signal: new AbortController().signal, progress: () => {} });

test(
  'an archive whose move is killed at any step is in exactly one place, and can be moved again',
  async () => {
    const whole = await archive();
    const parent = await temporaryFolder();
    const [from, to] = [join(parent, 'old'), join(parent, 'new')];
    let kills = 0;
    let wasMoved = 0;
    for (let step = 1; ; step += 1) {
      for (const each of await readdir(parent)) await rm(join(parent, each), { recursive: true });
      await cp(whole, from, { recursive: true });
      const { code } = await runCommand(['move', from, to], undefined, {
        NODE_OPTIONS: `--import=${KILL_AT_STEP}`,
        STRONGROOM_TEST_KILL_FOLDER: parent,
        STRONGROOM_TEST_KILL_AT: String(step),
        STRONGROOM_TEST_KILL_EVERYWHERE: '1',
      });
      const places = [await opens(from), await opens(to)];
      expect(places.filter(Boolean), `killed at step ${step}: ${places.join()}`).toHaveLength(1);
      if (code === 0) break;
      kills += 1;
      if (places[0]) await move(from, to);
      else wasMoved += 1;
      const store = await openStore({ folder: to, clock: systemClock });
      expect(await readFile(store.blobs.fileOf(sha256Of(BYTES)), 'utf8')).toBe(BYTES);
      await store.close();
      expect(readDataFolder(to)).toMatchObject({ moved_from: { folder: from, exists: true } });
      expect((await readdir(parent)).sort()).toEqual(['new', 'old']);
    }
    expect(kills).toBeGreaterThan(20);
    expect(wasMoved).toBeGreaterThan(0);
  },
  KILLS_TIMEOUT_MS,
);

test('a target disk that becomes full leaves the archive where it was, and nothing on the disk', async ({
  skip,
}) => {
  const from = await archive();
  const disk = await temporaryFolder();
  let whyNot = '';
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk], { stdio: 'pipe' });
  } catch (error) {
    whyNot = `Run this container with the right to mount file systems: ${String(error)}`;
  }
  requireThat(whyNot === '', whyNot, skip);
  try {
    await writeFile(join(disk, 'filling'), Buffer.alloc(23 * 1_048_576));
    const to = join(disk, 'archive');
    await expect(move(from, to)).rejects.toThrow(/^The disk of .* has 1\.0 MB free.*Nothing was changed\.$/);
    await rm(join(disk, 'filling'));
    // Someone else fills the disk while the archive is copied.
    let isFilled = false;
    const filling = moveArchive({
      from,
      to,
      clock: systemClock,
      signal: new AbortController().signal,
      progress: () => {
        if (isFilled) return;
        isFilled = true;
        // At once: the archive is small, and could be there before.
        expect(() => writeFileSync(join(disk, 'filling'), Buffer.alloc(25 * 1_048_576))).toThrow('ENOSPC');
      },
    });
    await expect(filling).rejects.toThrow(/^The disk of .* is full\. Nothing was changed\.$/);
    expect(await readdir(disk)).toEqual(['filling']);
    execFileSync('mount', ['-o', 'remount,ro', disk]);
    await expect(move(from, to)).rejects.toThrow(`${disk} is on a disk that cannot be written.`);
    expect(await opens(from)).toBe(true);
  } finally {
    execFileSync('umount', ['-l', disk]);
  }
});
