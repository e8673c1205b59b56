import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { openCollectingNode } from '../../collection/support.ts';
import { audit, overwrite } from '../../fixity/support.ts';
import { sha256Of, uploadNewPack } from '../../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

/* What was sent before is never outdated or mixed up. */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const A = sha256Of('first');

async function nodeWithA(): Promise<TestNode> {
  const node = await openTestNode();
  await uploadNewPack(node, {}, { 'a.txt': 'first' });
  return node;
}

/** Returns the status and the text of a response, and checks its Content-Length. */
async function responseTo(node: TestNode, path = `/api/blobs/${A}`): Promise<[number, string]> {
  const answer = await node.fetch(path);
  const text = await answer.text();
  expect(answer.headers.get('Content-Length')).toBe(String(Buffer.byteLength(text)));
  return [answer.status, text];
}

test('bytes that were sent before are refused once they are known to be damaged, and sent again after the repair', async () => {
  const node = await nodeWithA();
  expect(await responseTo(node)).toEqual([200, 'first']);
  await overwrite(node.dataFolder, A, 'fixed');
  await audit(node);
  expect(await responseTo(node)).toEqual([500, expect.stringContaining('blob_damaged')]);
  await overwrite(node.dataFolder, A, 'first');
  await audit(node);
  expect(await responseTo(node)).toEqual([200, 'first']);
});

test.each(['firs', 'first and more', ''])(
  'a file that was changed to “%s” after it was sent is not sent again',
  async (now) => {
    const node = await nodeWithA();
    expect(await responseTo(node)).toEqual([200, 'first']);
    await overwrite(node.dataFolder, A, now);
    expect(await responseTo(node)).toEqual([500, expect.stringContaining('blob_damaged')]);
    await overwrite(node.dataFolder, A, 'first');
    expect(await responseTo(node)).toEqual([200, 'first']);
  },
);

test('an object that was sent before is sent with its new type after another retrieval', async () => {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode();
  await node.watch(web.url('/page'));
  const cameAs = async (type: string) => {
    web.script('/page', page('text', { headers: { 'Content-Type': type } }));
    await node.check();
  };
  const typeFor = async (use: string) => {
    const answer = await node.node.fetch(`/archive/${sha256Of('text')}`, {
      headers: { 'Sec-Fetch-Dest': use },
    });
    return answer.headers.get('Content-Type');
  };
  await cameAs('text/plain');
  expect(await typeFor('document')).toBe('text/plain');
  await cameAs('text/csv');
  expect(await typeFor('document')).toBe('text/csv');
  // The type is hidden from pages that load an object as a script, but not from other requests.
  expect(await typeFor('script')).toBe('application/octet-stream');
  expect(await typeFor('document')).toBe('text/csv');
});

test('sends an empty blob', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, {}, { empty: '' });
  expect(await responseTo(node, `/api/blobs/${sha256Of('')}`)).toEqual([200, '']);
});

test('a slow client gets correct responses while others are served', async () => {
  const node = await openTestNode();
  const contents = ['x', 'y', 'z'].map((letter) => letter.repeat(60_000));
  await uploadNewPack(node, {}, Object.fromEntries(contents.map((content, index) => [`${index}`, content])));
  const paths = contents.map((content) => `/api/blobs/${sha256Of(content)}`);
  const { port, host } = new URL(node.url);
  const socket = connect(Number(port), '127.0.0.1');
  const wanted = Array.from({ length: 300 }, (_, index) => index % 3);
  for (const [at, index] of wanted.entries()) {
    const last = at === wanted.length - 1 ? 'Connection: close\r\n' : '';
    socket.write(`GET ${paths[index]} HTTP/1.1\r\nHost: ${host}\r\n${last}\r\n`);
  }
  // The kernel accepts some of the responses. The others wait in the node over many turns of its event loop.
  for (const path of [...paths, ...paths, ...paths]) await responseTo(node, path);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  const bodies = Buffer.concat(chunks)
    .toString('latin1')
    .split(/HTTP\/1\.1 200 OK\r\n(?:[^\r\n]+\r\n)+\r\n/)
    .slice(1);
  expect(bodies.length).toBe(wanted.length);
  const wrong = bodies.filter((body, index) => body !== contents[wanted[index] ?? 0]);
  expect(wrong.length).toBe(0);
});
