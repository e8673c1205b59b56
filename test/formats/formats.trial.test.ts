import { cp, rm } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { closeAll } from '../alerts/support.ts';
import { closeTimestampAuthorities } from '../support/network/timestampAuthority.ts';
import { temporaryFolder } from '../support/node.ts';
import { writeFormats } from './exampleArchive.ts';
import { differences } from './shapes.ts';
import { example, versionsWithExamples } from './versions.ts';

afterEach(closeAll);
afterEach(closeTimestampAuthorities);

/*
 * `npm run formats` makes the examples again and says how they would differ from the newest ones; with WRITE=1.1 in the
 * environment it writes them as those of that version. A difference that is meant is a new version beside the earlier
 * ones, or, before a release, the same one written anew.
 */
test('what this version writes has the form of the newest examples', async () => {
  const made = await temporaryFolder();
  await writeFormats(made);
  const version = process.env.WRITE;
  if (version) {
    await rm(example(version, ''), { recursive: true, force: true });
    await cp(made, example(version, ''), { recursive: true });
  }
  const newest = (await versionsWithExamples()).at(-1) ?? '';
  expect(await differences(example(newest, ''), made)).toEqual([]);
});
