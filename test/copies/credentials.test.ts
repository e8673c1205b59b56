import { afterEach, expect, test } from 'vitest';
import { CredentialsWriter, readCredentials } from '../../server/copies/targets/openTarget.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

test('access keys that are added and removed at the same time do not overwrite each other', async () => {
  const folder = await temporaryFolder();
  const writer = new CredentialsWriter(folder);
  const key = (name: string) => ({ access_key: name, secret_key: `secret of ${name}` });
  await writer.set('old', key('old'));
  const names = Array.from({ length: 8 }, (_, index) => `copy-${index}`);
  await Promise.all([...names.map((name) => writer.set(name, key(name))), writer.set('old', undefined)]);
  expect(await readCredentials(folder)).toEqual(Object.fromEntries(names.map((name) => [name, key(name)])));
});
