import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

test('a report has versions, settings without names and the end of the log without tokens; only for the owner', async () => {
  const folder = await temporaryFolder();
  const logFile = join(folder, 'strongroom.log');
  const secret = '0f'.repeat(16);
  const lines = Array.from({ length: 1_200 }, (_, number) => JSON.stringify({ msg: `Line ${number}.` }));
  lines.push(
    JSON.stringify({ url: `https://me:pass@source.example/list?token=${secret}#x`, msg: 'A source.' }),
  );
  lines.push(JSON.stringify({ msg: `http://127.0.0.1:1/sign-in/abc123 ${secret} ${folder}/data/tmp` }));
  await writeFile(logFile, `${lines.join('\n')}\n`);
  const node = await openTestNode({ logFile, dataFolder: join(folder, 'data') });
  await node.sendJson('PATCH', '/manage/settings', { contact_email: 'me@private.example' });
  expect((await node.fetch('/manage/report')).status).toBe(401);
  const response = await node.fetchAsOwner('/manage/report');
  expect(response.headers.get('content-type')).toContain('text/plain');
  const text = await response.text();
  expect(text).toContain(`node ${process.versions.node}`);
  expect(text).toContain('contact_email: set\n');
  expect(text).toContain('collection_every_minutes: 60\n');
  expect(text).toContain('LOG (the last 1000 lines)');
  expect(text).toContain('"https://source.example/list?…"');
  expect(text).not.toContain('Line 201.');
  expect(text).toContain('Line 202.');
  for (const hidden of [secret, 'pass@', 'abc123', 'private.example', folder, node.token])
    expect(text).not.toContain(hidden);
});
