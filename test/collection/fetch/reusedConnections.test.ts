import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeScriptedWebs, ScriptedWeb, type Step } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
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

const response = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Sends a response and further bytes on a connection that stays open. */
function keepAlive(body: string, more = ''): Step {
  return (socket) => void socket.write(response(body) + more);
}

/** Watches the pages of a site, checks each several times, and returns the body or error of every attempt. */
async function outcomes(pages: Record<string, Step>, rounds = 3): Promise<Record<string, string[]>> {
  const ids: Record<string, string> = {};
  for (const [path, step] of Object.entries(pages)) {
    web.script(path, step);
    ids[path] = (await node.watch(web.url(path), { ignore_robots: true })).id;
  }
  for (let round = 0; round < rounds; round += 1) await node.check();
  const results: Record<string, string[]> = {};
  for (const [path, id] of Object.entries(ids)) {
    const attempts = await node.retrievals(id);
    results[path] = await Promise.all(
      attempts.map(async ({ error, sha256 }) =>
        sha256 === null ? String(error) : (await node.node.fetch(`/archive/${sha256}`)).text(),
      ),
    );
  }
  return results;
}

test('bytes beyond the declared length belong neither to their page nor to the next', async () => {
  const results = await outcomes({
    '/a': keepAlive('aaa', 'and more than was said'),
    '/b': keepAlive('bbb'),
    '/c': keepAlive('ccc'),
  });
  expect(results).toEqual({
    '/a': ['aaa', 'aaa', 'aaa'],
    '/b': ['bbb', 'bbb', 'bbb'],
    '/c': ['ccc', 'ccc', 'ccc'],
  });
});

test('an unrequested second response is not used for the next page', async () => {
  const results = await outcomes({
    '/a': keepAlive('aaa', response('forged')),
    '/b': keepAlive('bbb'),
    '/c': keepAlive('ccc'),
  });
  expect(results).toEqual({
    '/a': ['aaa', 'aaa', 'aaa'],
    '/b': ['bbb', 'bbb', 'bbb'],
    '/c': ['ccc', 'ccc', 'ccc'],
  });
});

test('a server that closes each connection after its response without notice causes no failure', async () => {
  const closing =
    (body: string): Step =>
    (socket) =>
      void socket.write(response(body), () => socket.destroySoon());
  const resetting =
    (body: string): Step =>
    (socket) =>
      void socket.write(response(body), () => setImmediate(() => socket.resetAndDestroy()));
  const results = await outcomes(
    { '/a': closing('aaa'), '/b': closing('bbb'), '/c': resetting('ccc'), '/d': keepAlive('ddd') },
    5,
  );
  for (const [path, attempts] of Object.entries(results))
    expect(new Set(attempts), path).toEqual(new Set([path.slice(1).repeat(3)]));
});
