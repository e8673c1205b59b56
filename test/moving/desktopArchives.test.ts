import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { Archives } from '../../electron/archives.ts';
import type { Preferences } from '../../electron/preferences.ts';
import { createArchive } from '../../server/moving/archivePlace.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { asked, forget } from '../support/electronDouble.ts';
import { temporaryFolder } from '../support/node.ts';

vi.mock('electron', () => import('../support/electronDouble.ts'));

let folder: string;
let archives: Archives;
const changes: object[] = [];

beforeEach(async () => {
  const parent = await temporaryFolder();
  folder = join(parent, 'archive');
  await createArchive(folder, systemClock);
  forget();
  changes.length = 0;
  const preferences = {
    current: { recent: [] },
    change: (change: object) => changes.push(change),
  } as unknown as Preferences;
  archives = new Archives({ folder, fixed: undefined, preferences, closeNode: async () => {} });
});

test('of two moves at once one is refused, and the other ends as if it were alone', async () => {
  const answers = await Promise.all([archives.move(`${folder}-1`), archives.move(`${folder}-2`)]);
  expect(answers).toEqual([null, expect.stringContaining('is being')]);
  expect(asked).toMatchObject({ relaunch: 1, quit: 1, errors: [] });
  expect(changes).toEqual([expect.objectContaining({ archive: `${folder}-1` })]);
  expect(await archives.move(`${folder}-3`)).toBe('The archive is being moved.');
});

test('a refused move keeps no other change from being made', async () => {
  expect(await archives.move('not a complete path')).toEqual(expect.any(String));
  expect(archives.progress).toBeNull();
  expect(await archives.move(`${folder}-1`)).toBeNull();
});
