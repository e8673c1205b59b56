import { afterEach, beforeEach, expect, test } from 'vitest';
import { listEvents, loadTimeline } from '../../../server/collection/timeline/events.ts';
import { readSeen } from '../../../server/collection/timeline/seen.ts';
import { writeSeenMarks } from '../../../server/store/sqlite/collection/timeline/eventColumns.ts';
import { openStore } from '../../../server/store/store.ts';
import type { EventDensity } from '../../../shared/collection/event.ts';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import type { Job } from '../../../shared/node/job.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { eventually } from '../../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, temporaryFolder } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const CLOCK = { kind: 'selector', value: '.clock', note: '' };
const NUMBER = { kind: 'pattern', value: '\\d+', note: '' };
/** Two changes: the first of the clock only, the second of the text too. */
const VERSIONS = ['<p>A<b class="clock">1</b>', '<p>A<b class="clock">2</b>', '<p>B<b class="clock">3</b>'];

let web: ScriptedWeb;
let node: CollectingNode;
let folder: string;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  folder = await temporaryFolder();
  node = await openCollectingNode({}, { dataFolder: folder, ...DERIVING });
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function watchVersions(): Promise<WatchedSource> {
  web.script('/page', ...VERSIONS.map((version) => page(version)));
  const source = await node.watch(web.url('/page'));
  for (const _ of VERSIONS) await node.check([source.id]);
  return source;
}

/** Sets the rules of a source, and applies them to its past versions. */
async function apply({ id }: WatchedSource, noise_rules: object[]): Promise<void> {
  await node.node.sendJson('PATCH', `/manage/sources/${id}`, { noise_rules });
  const started = (await (await node.node.sendJson('POST', `/manage/sources/${id}/noise`, {})).json()) as Job;
  await eventually(async () =>
    expect((await node.read<Job>(`/manage/jobs/${started.id}`)).state).toBe('done'),
  );
}

async function idsOf(query: string): Promise<number[]> {
  return (await node.events(query)).map(({ id }) => id);
}

async function text(path: string): Promise<string> {
  return (await node.node.fetch(path)).text();
}

/** The ids of the events in the Atom feed and in the CSV, newest first. */
async function exportedIds(query: string): Promise<{ atom: number[]; csv: number[] }> {
  const atom = (await text(`/api/events.atom?${query}`)).matchAll(/<id>tag:[^<]*event\/(\d+)<\/id>/g);
  const [, ...lines] = (await text(`/api/events?format=csv&${query}`)).trim().split('\r\n');
  return {
    atom: [...atom].map(([, id]) => Number(id)),
    csv: lines.map((line) => Number(line.split(',')[0])),
  };
}

async function counted(query: string): Promise<number> {
  return (await node.read<EventDensity>(`/api/events/density?buckets=7&${query}`)).total;
}

test('rules added, changed and removed later change what the filter answers, also after a restart', async () => {
  const source = await watchVersions();
  expect(await idsOf('noise=true')).toEqual([]);
  expect(await idsOf('noise=false')).toEqual([3, 2, 1]);

  await apply(source, [CLOCK]);
  expect(await idsOf('noise=true')).toEqual([2]);
  expect(await idsOf('noise=false')).toEqual([3, 1]);
  expect(await idsOf('')).toEqual([3, 2, 1]);
  expect(await idsOf('noise=false&event_type=changed')).toEqual([3]);
  expect(await idsOf(`noise=true&source=${source.id}&q=page`)).toEqual([2]);

  // Other rules: what was marked by the earlier ones counts no longer.
  await node.node.sendJson('PATCH', `/manage/sources/${source.id}`, { noise_rules: [NUMBER] });
  expect(await idsOf('noise=true')).toEqual([]);
  await apply(source, [NUMBER]);
  expect(await idsOf('noise=true')).toEqual([2]);

  await node.node.close();
  node = await openCollectingNode({}, { dataFolder: folder, ...DERIVING });
  expect(await idsOf('noise=true')).toEqual([2]);
  expect(await idsOf('noise=false')).toEqual([3, 1]);
  await node.node.sendJson('PATCH', `/manage/sources/${source.id}`, { noise_rules: [] });
  expect(await idsOf('noise=true')).toEqual([]);
  expect(await idsOf('noise=false')).toEqual([3, 2, 1]);
});

test('the feed, the CSV and the counts over time take the same filter', async () => {
  const source = await watchVersions();
  await apply(source, [CLOCK]);
  expect(await exportedIds('noise=true')).toEqual({ atom: [2], csv: [2] });
  expect(await exportedIds('noise=false')).toEqual({ atom: [3, 1], csv: [3, 1] });
  expect(await exportedIds('')).toEqual({ atom: [3, 2, 1], csv: [3, 2, 1] });
  expect([await counted('noise=true'), await counted('noise=false'), await counted('')]).toEqual([1, 2, 3]);
});

test('the answers about noise are the same before and after the timeline is loaded', async () => {
  const source = await watchVersions();
  await apply(source, [CLOCK]);
  await node.watch(web.url('/other'));
  await node.node.sendJson('PATCH', '/manage/seen', { seen: [3] });
  await node.node.close();
  const store = await openStore({ folder, clock: systemClock });
  try {
    const answers = async () => ({
      seen: await readSeen(store),
      noise: await listEvents(store, { noise: true, limit: 1, offset: 0 }),
      others: await listEvents(store, { noise: false, limit: 1, offset: 0 }),
    });
    const early = await answers();
    expect(early).toMatchObject({
      seen: { until: 0, exceptions: [3], unseen: 1, unseen_noise: 1 },
      noise: { items: [{ id: 2 }], total: 1 },
      others: { items: [{ id: 3 }], total: 2 },
    });
    await store.write((database) => writeSeenMarks(database, { until: 2, exceptions: [2, 3] }));
    expect(await readSeen(store)).toMatchObject({ unseen: 0, unseen_noise: 1 });
    await store.write((database) => writeSeenMarks(database, { until: 0, exceptions: [3] }));
    await loadTimeline(store);
    expect(await answers()).toEqual(early);
  } finally {
    await store.close();
  }
});

test.each(['/api/events', '/api/events.atom', '/api/events/density'])(
  '%s refuses other values',
  async (path) => {
    for (const value of ['1', '', 'yes', 'TRUE', 'null']) {
      const answer = await node.node.fetch(`${path}?noise=${value}`);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ code: 'invalid_parameter' });
    }
  },
);
