import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeTestNodes } from '../../support/node.ts';
import { closeScriptedWebs, ScriptedWeb, type Step } from '../../support/scriptedWeb.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode({ per_host_concurrency: 1, unavailable_after_failures: 1 });
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const answer = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Answers, and what else is said, on a connection that stays open. */
function kept(body: string, more = ''): Step {
  return (socket) => void socket.write(answer(body) + more);
}

/** Watches pages of one site, checks each several times, and tells what every attempt came to. */
async function outcomes(pages: Record<string, Step>, rounds = 3): Promise<Record<string, string[]>> {
  const ids: Record<string, string> = {};
  for (const [path, step] of Object.entries(pages)) {
    web.script(path, step);
    ids[path] = (await node.watch(web.url(path), { ignore_robots: true })).id;
  }
  for (let round = 0; round < rounds; round += 1) await node.check();
  const told: Record<string, string[]> = {};
  for (const [path, id] of Object.entries(ids)) {
    const attempts = await node.retrievals(id);
    told[path] = await Promise.all(
      attempts.map(async ({ error, sha256 }) =>
        sha256 === null ? String(error) : (await node.node.fetch(`/archive/${sha256}`)).text(),
      ),
    );
  }
  return told;
}

test('bytes beyond an answer’s length are nobody’s: neither of the page they came with nor of the next', async () => {
  const told = await outcomes({
    '/a': kept('aaa', 'and more than was said'),
    '/b': kept('bbb'),
    '/c': kept('ccc'),
  });
  expect(told).toEqual({
    '/a': ['aaa', 'aaa', 'aaa'],
    '/b': ['bbb', 'bbb', 'bbb'],
    '/c': ['ccc', 'ccc', 'ccc'],
  });
});

test('a second answer that nobody asked for is not taken for that of the next page', async () => {
  const told = await outcomes({ '/a': kept('aaa', answer('forged')), '/b': kept('bbb'), '/c': kept('ccc') });
  expect(told).toEqual({
    '/a': ['aaa', 'aaa', 'aaa'],
    '/b': ['bbb', 'bbb', 'bbb'],
    '/c': ['ccc', 'ccc', 'ccc'],
  });
});

test('a server that closes each connection after its answer, unsaid, makes nothing fail', async () => {
  const closing =
    (body: string): Step =>
    (socket) =>
      void socket.write(answer(body), () => socket.destroySoon());
  const resetting =
    (body: string): Step =>
    (socket) =>
      void socket.write(answer(body), () => setImmediate(() => socket.resetAndDestroy()));
  const told = await outcomes(
    { '/a': closing('aaa'), '/b': closing('bbb'), '/c': resetting('ccc'), '/d': kept('ddd') },
    5,
  );
  for (const [path, attempts] of Object.entries(told))
    expect(new Set(attempts), path).toEqual(new Set([path.slice(1).repeat(3)]));
});
