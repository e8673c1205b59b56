import { afterEach, describe, expect, test } from 'vitest';
import {
  closeScriptedWebs,
  page,
  redirect,
  ScriptedWeb,
  tagged,
  unreachableUrl,
} from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

interface DumpedRetrieval {
  kind: string;
  request: { method: string; headers: [string, string | null][] } | null;
}

/** Returns the request of each attempt in the dump. */
async function requestsInDump(node: CollectingNode): Promise<DumpedRetrieval['request'][]> {
  const dump = await (await node.node.fetch('/api/dump.jsonl')).text();
  return dump
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as DumpedRetrieval)
    .filter(({ kind }) => kind === 'retrieval')
    .map(({ request }) => request);
}

describe('the request is recorded with each attempt', () => {
  test('as it was sent, including conditional headers', async () => {
    const node = await openCollectingNode();
    const web = await ScriptedWeb.open();
    web.script('/a?b=1', tagged('one', '"v1"'));
    await node.watch(web.url('/a?b=1'), { ignore_robots: true });
    await node.check();
    await node.check();
    const seen = web.requests('/a?b=1').map(({ headers }) => Object.entries(headers));
    expect(await requestsInDump(node)).toEqual(seen.map((headers) => ({ method: 'GET', headers })));
    expect(seen[1]).toContainEqual(['if-none-match', '"v1"']);
  });

  test('without the values of the owner’s headers', async () => {
    const node = await openCollectingNode();
    const web = await ScriptedWeb.open();
    web.script('/secret', page('one'));
    await node.watch(web.url('/secret'), { ignore_robots: true, headers: { 'X-Token': 'hunter2' } });
    await node.check();
    expect(web.requests('/secret')[0]?.headers['x-token']).toBe('hunter2');
    const [request] = await requestsInDump(node);
    expect(request?.headers).toContainEqual(['x-token', null]);
    expect(JSON.stringify(request)).not.toContain('hunter2');
  });

  test('as it was sent to the final URL, and is null without a response', async () => {
    const node = await openCollectingNode();
    const [from, to] = [await ScriptedWeb.open(), await ScriptedWeb.open()];
    from.script('/from', redirect(to.url('/to')));
    to.script('/to', page('here'));
    await node.watch(from.url('/from'), { ignore_robots: true, headers: { 'X-Token': 'hunter2' } });
    await node.watch(await unreachableUrl('/dead'), { ignore_robots: true });
    await node.check();
    const requests = await requestsInDump(node);
    expect(requests).toHaveLength(2);
    expect(requests).toContain(null);
    const sent = requests.find((request) => request !== null)?.headers;
    expect(sent).toContainEqual(['host', new URL(to.url('/')).host]);
    expect(sent?.map(([name]) => name)).not.toContain('x-token');
  });

  test('but not the request for robots.txt', async () => {
    const node = await openCollectingNode();
    const web = await ScriptedWeb.open();
    web.script('/robots.txt', page('User-agent: *\nDisallow: /'));
    await node.watch(web.url('/page'));
    await node.check();
    expect(await requestsInDump(node)).toEqual([null]);
  });
});
