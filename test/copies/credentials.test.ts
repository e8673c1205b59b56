import { afterEach, expect, test } from 'vitest';
import { readCredentials, writeCredentials } from '../../server/copies/keys/credentials.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

test('access keys that are added and removed at the same time do not overwrite each other', async () => {
  const folder = await temporaryFolder();
  const key = (name: string) => ({ access_key: name, secret_key: `secret of ${name}` });
  await writeCredentials(folder, 'old', key('old'));
  const names = Array.from({ length: 8 }, (_, index) => `copy-${index}`);
  await Promise.all([
    ...names.map((name) => writeCredentials(folder, name, key(name))),
    writeCredentials(folder, 'old', undefined),
  ]);
  expect(await readCredentials(folder)).toEqual(Object.fromEntries(names.map((name) => [name, key(name)])));
});
