import { afterEach, expect, test } from 'vitest';
import type { CollectionResult } from '../../../shared/collection/collection.ts';
import type { PageList } from '../../../shared/collection/page.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb, type Step } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const MINUTE = 60_000;
const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
/** Ends what a test holds up. */
let release = () => {};

afterEach(async () => {
  release();
  await closeTestNodes();
  await closeScriptedWebs();
});

function held(): Promise<void> {
  return new Promise((resolve) => {
    release = resolve;
  });
}

/** Answers once the test releases it. */
function heldPart(): Step {
  const over = held();
  const answer = page('part');
  return async (socket, request) => {
    await over;
    await answer(socket, request);
  };
}

test('timed checks go on while a page is drawn', async () => {
  const clock = new ManualClock();
  const web = await ScriptedWeb.open();
  web.script('/drawn', page('<p>drawn', HTML));
  web.script('/plain', page('plain'));
  const over = held();
  const startBrowser = async () => {
    await over;
    return null;
  };
  const node = await openCollectingNode(
    { request_timeout_seconds: 3600 },
    { clock, collect: true, startBrowser },
  );
  await node.watch(web.url('/drawn'), { every_minutes: 5, capture: 'page' });
  const { id } = await node.watch(web.url('/plain'), { every_minutes: 5 });
  for (const times of [1, 2, 3])
    await eventually(async () => {
      await clock.turn(MINUTE / 4);
      expect((await node.retrievals(id)).length).toBeGreaterThanOrEqual(times);
    });
  expect(web.requests('/drawn').length).toBeGreaterThanOrEqual(2);
});

const DRAWN = (part: string) => page(`<p>text</p><img src="${part}">`, HTML);

async function startRound(node: CollectingNode, sources: string[]): Promise<string> {
  const response = await node.node.sendJson('POST', '/manage/collections', { sources });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
}

async function resultOf(node: CollectingNode, id: string): Promise<CollectionResult> {
  return eventually(async () => {
    const job = await node.read<{ state: string; result: CollectionResult }>(`/manage/jobs/${id}`);
    expect(job.state).not.toBe('running');
    return job.result;
  });
}

test('a page that two rounds wait for is drawn though the first is cancelled', async () => {
  const web = await ScriptedWeb.open();
  web.script('/a', DRAWN('/part'));
  web.script('/part', heldPart());
  const node = await openCollectingNode({ page_timeout_seconds: 120 });
  const { id } = await node.watch(web.url('/a'), { capture: 'page' });
  const first = await startRound(node, [id]);
  await web.asked('/part');
  const second = await startRound(node, [id]);
  await web.asked('/a', 2);
  // The second round waits for the page once its check is recorded.
  await eventually(async () => expect(await node.retrievals(id)).toHaveLength(2));
  await node.node.sendJson('DELETE', `/manage/jobs/${first}`, {});
  await resultOf(node, first);
  release();
  expect((await resultOf(node, second)).events).toHaveLength(1);
  expect((await node.read<PageList>(`/archive/pages?source=${id}`)).items).toHaveLength(1);
});

test('more pages are drawn at once as soon as the settings allow it', async () => {
  const web = await ScriptedWeb.open();
  const part = heldPart();
  for (const name of ['a', 'b']) {
    web.script(`/${name}`, DRAWN(`/part/${name}`));
    web.script(`/part/${name}`, part);
  }
  const node = await openCollectingNode({ page_timeout_seconds: 120, page_concurrency: 1 });
  const a = await node.watch(web.url('/a'), { capture: 'page' });
  const b = await node.watch(web.url('/b'), { capture: 'page' });
  await startRound(node, [a.id]);
  await web.asked('/part/a');
  await startRound(node, [b.id]);
  await eventually(async () => expect(await node.retrievals(b.id)).toHaveLength(1));
  expect(web.requests('/part/b')).toHaveLength(0);
  await node.set({ page_concurrency: 2 });
  await web.asked('/part/b');
});
