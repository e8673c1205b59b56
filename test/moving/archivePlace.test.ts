import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { chosenFolder } from '../../electron/openArchive.ts';
import { openPreferences } from '../../electron/preferences.ts';
import { createArchive, removeOldFolder } from '../../server/moving/archivePlace.ts';
import { moveArchive } from '../../server/moving/moveArchive.ts';
import { openStore } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

test('the app without --data opens its archive where a command moved it, and no new one if that is not there', async () => {
  const profile = await temporaryFolder();
  const disk = await temporaryFolder();
  const first = join(profile, 'archive');
  expect(chosenFolder(first), 'a first start creates the archive in the default folder').toBe(first);
  await createArchive(first, systemClock);
  const signal = new AbortController().signal;
  const second = join(disk, 'second');
  const third = join(disk, 'third');
  await moveArchive({ from: first, to: second, clock: systemClock, signal, progress: () => {} });
  await expect(
    moveArchive({ from: second, to: third, clock: systemClock, signal, progress: () => {} }),
  ).rejects.toThrow(`The old folder ${first} of an earlier move is still kept.`);
  expect(chosenFolder(first)).toBe(second);

  // The app has stored the place, so it needs the old folder no more.
  await removeOldFolder(second);
  await moveArchive({ from: second, to: third, clock: systemClock, signal, progress: () => {} });
  expect(chosenFolder(first)).toBe(third);
  expect(openPreferences(join(profile, 'desktop.json')).current).toMatchObject({
    archive: third,
    recent: [third],
  });

  await rename(disk, `${disk}-away`);
  expect(() => chosenFolder(first)).toThrow(
    /There is no folder .*third.* attach it\. Nothing was changed\.$/,
  );
  await mkdir(third, { recursive: true });
  expect(() => chosenFolder(first)).toThrow(`There is no archive in ${third}.`);
  await rm(disk, { recursive: true });
  await rename(`${disk}-away`, disk);
  expect(chosenFolder(first)).toBe(third);
  await (await openStore({ folder: third, clock: systemClock })).close();
});
