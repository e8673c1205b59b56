import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { MAX_HANDED_IN_BYTES, MAX_HANDED_IN_PARTS } from '../../../shared/collection/handedIn.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { savedPage } from '../../support/savedPages.ts';
import { openCollectingNode } from '../support.ts';
import { handIn, refusedWith, sendFile } from './support.ts';

afterEach(closeTestNodes);

const ADDRESS = 'https://mail.example/inbox';

test('a body of unknown length is refused at the limit, whatever it holds, and leaves nothing on the disk', async () => {
  const dataFolder = join(await temporaryFolder(), 'data');
  const node = await openCollectingNode({}, { dataFolder });
  const head = Buffer.from(
    `Snapshot-Content-Location: ${ADDRESS}\r\nContent-Type: multipart/related; boundary=B\r\n\r\n--B\r\nContent-Type: text/html\r\n\r\n`,
  );
  const piece = Buffer.alloc(1_048_576, 'x');
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(sent === 0 ? head : piece);
      sent += 1;
      if (sent > 2_000) controller.close();
    },
  });
  const answer = await sendFile(node.node, body, 'multipart/related');
  expect((await refusedWith(answer)).slice(0, 2)).toEqual([413, 'body_too_large']);
  expect(sent).toBeLessThan(MAX_HANDED_IN_BYTES / piece.length + 100);
  expect(await readdir(join(dataFolder, 'tmp'))).toEqual([]);
});

test('the largest number of parts is kept in one transaction, all withheld', async () => {
  const node = await openCollectingNode();
  const parts = Array.from({ length: MAX_HANDED_IN_PARTS - 1 }, (_, index) => ({
    type: 'text/css',
    location: `https://mail.example/${index}.css`,
    encoding: 'base64' as const,
    content: `p${index} { color: red }`,
  }));
  const root = { type: 'text/html', location: ADDRESS, content: '<html><p>Inbox</p></html>' };
  const handed = await handIn(node.node, savedPage(ADDRESS, [root, ...parts]), 'multipart/related');
  expect(handed.parts).toHaveLength(MAX_HANDED_IN_PARTS);
  const last = handed.parts.at(-1)?.sha256;
  expect((await node.node.fetch(`/archive/${last}`)).status).toBe(451);
});
