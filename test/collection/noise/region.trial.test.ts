import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Diff, NoisePreview } from '../../../shared/collection/diff.ts';
import type { Event } from '../../../shared/collection/event.ts';
import type { PageCapture, PageList } from '../../../shared/collection/page.ts';
import type { LedgerVerification } from '../../../shared/ledger/ledger.ts';
import type { ProblemDocument } from '../../../shared/problems.ts';
import { AlertingNode, closeAll, dataOf } from '../../alerts/support.ts';
import { WebhookReceiver } from '../../alerts/webhookReceiver.ts';
import { eventually } from '../../support/eventually.ts';
import { page as answer, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { DERIVING } from '../../support/node.ts';

/** One node for all tests, because to start a browser takes longer than to draw with it. */
let node: AlertingNode;
beforeAll(async () => {
  node = await AlertingNode.open(DERIVING);
});
afterAll(closeAll);

interface Look {
  /** The colour of a block in the region, and of one outside. */
  inside?: string;
  outside?: string;
  news?: string;
  fee?: string;
  height?: number;
}

/** A page without text in the region unless there is a fee. The region is below the first screen. */
function look({ inside = 'teal', outside = 'navy', news = 'One', fee = '', height = 1200 }: Look) {
  return answer(
    `<!doctype html><body style="margin: 0; height: ${height}px; overflow: hidden; position: relative"><p style="margin: 0">${news}</p>
     <div style="position: absolute; top: 400px; width: 200px; height: 90px; background: ${outside}"></div>
     <div style="position: absolute; top: 1000px; width: 200px; height: 90px; background: ${inside}">${fee}</div>`,
    { headers: { 'Content-Type': 'text/html' } },
  );
}

const REGION = { x: 0, y: 1000, width: 300, height: 100 };
const PDF = answer('%PDF-1.4', { headers: { 'Content-Type': 'application/pdf' } });

/** The changes of the drawn page, oldest first, once all were judged. */
function judged(node: AlertingNode, source: string): Promise<Event[]> {
  return eventually(async () => {
    const events = (await node.events(`source=${source}&observer=browser`)).reverse();
    const changes = events.filter(({ event_type }) => event_type === 'changed');
    expect(changes.every(({ is_noise }) => is_noise !== null)).toBe(true);
    return changes;
  });
}

async function refusal(answered: Promise<Response>): Promise<string | undefined> {
  const response = await answered;
  expect(response.status, await response.clone().text()).toBe(422);
  return ((await response.json()) as ProblemDocument).errors?.[0]?.path;
}

test('only changes within a region of the picture count, also those that no text shows, and it is said when it is gone', async () => {
  const web = await ScriptedWeb.open();
  const looks: Look[] = [
    {},
    { news: 'Two' },
    { news: 'Two', outside: 'red' },
    { news: 'Two', outside: 'red', inside: 'orange' },
    { news: 'Two', outside: 'red', inside: 'orange', fee: '4' },
    { news: 'Two', height: 900 },
    {},
  ];
  web.script('/page', ...looks.map(look), PDF);
  const watch = { region: REGION };
  const { id } = await node.watch(web.url('/page'), { name: 'Shop', capture: 'page', watch });
  const receivers = { any: await WebhookReceiver.open(), lost: await WebhookReceiver.open() };
  await node.alert({ event_types: ['changed'], sources: [id] }, [receivers.any.target]);
  await node.alert({ watch_lost: true }, [receivers.lost.target]);
  const alerted = () => receivers.any.calls.flatMap((call) => dataOf(call).alerts);
  const lost = async () => (await node.source(id)).watch_lost_at;

  for (const _look of looks.slice(0, 5)) await node.check([id]);
  const events = await judged(node, id);
  expect(events.map(({ outside, sha256, previous_sha256 }) => [outside, sha256 === previous_sha256])).toEqual(
    [
      [true, false],
      [false, true],
      [false, false],
    ],
  );
  expect(await lost()).toBeNull();
  const own = await node.events(`source=${id}&observer=self&event_type=changed`);
  expect(own).toHaveLength(4);
  expect(own.every(({ outside }) => outside)).toBe(true);
  expect(await node.events(`source=${id}&label=outside`)).toHaveLength(5);
  await eventually(() =>
    expect(alerted().map(({ event }) => event)).toEqual(events.slice(1).map((each) => each.id)),
  );

  const picture = await node.read<Diff>(`/api/events/${events[1]?.id}/diff`);
  expect(picture).toMatchObject({
    kind: 'image',
    region: REGION,
    size: { to: { width: 300, height: 100 } },
    box: { x: 0, y: 0, width: 200, height: 90 },
    summary: { differing_pixels: 18_000 },
    noise: {
      outside: false,
      watch: { kind: 'region', value: '300 × 100 at 0, 1000', found: { from: 1, to: 1 } },
    },
  });
  const [, , shown] = await node
    .summarizedEvents(`source=${id}&observer=browser`)
    .then((all) => all.reverse());
  expect(shown?.summary).toBe('watched region differs in 60 %');
  const elsewhere = await node.summarizedEvents(`source=${id}&label=outside`);
  expect(new Set(elsewhere.map(({ summary }) => summary))).toEqual(new Set(['outside the watched part']));

  // The picture ends above the region.
  await node.check([id]);
  await eventually(async () => expect(await lost()).not.toBeNull());
  expect((await judged(node, id)).at(-1)).toMatchObject({ outside: false, is_noise: false });
  await node.check([id]);
  await eventually(async () => expect(await lost()).toBeNull());
  // There is no picture of a PDF. Its bytes are the change then.
  await node.check([id]);
  await eventually(async () => expect(await lost()).not.toBeNull());
  const [newest] = await node.events(`source=${id}&observer=self&event_type=changed`);
  expect(newest?.outside).toBe(false);
  await eventually(() => expect(receivers.lost.calls).toHaveLength(2));
  expect(dataOf(receivers.lost.calls[0]).alerts[0]?.text).toContain(
    'The region 300 × 100 at 0, 1000 is not in',
  );
  expect((await node.read<LedgerVerification>('/api/ledger/verify')).ok).toBe(true);
  expect(await (await node.node.fetch('/api/dump.jsonl')).text()).toContain(`"watch":{"region":{`);
});

test('a region is previewed on past pictures, and applied to them', async () => {
  const web = await ScriptedWeb.open();
  const looks: Look[] = [{}, { news: 'Two' }, { news: 'Three', inside: 'orange' }];
  web.script('/page', ...looks.map(look));
  const { id } = await node.watch(web.url('/page'), { capture: 'page' });
  for (const _look of looks) await node.check([id]);
  const preview = async (region: object, more: object = {}) => {
    const body = { watch: { region }, ...more };
    const response = await node.node.sendJson('POST', `/manage/sources/${id}/noise/preview`, body);
    expect(response.status).toBe(200);
    return (await response.json()) as NoisePreview;
  };
  const shown = await preview(REGION);
  expect(shown.newest?.watch).toMatchObject({ outcome: 'applied', found: { to: 1 } });
  const browser = await node.events(`source=${id}&observer=browser&event_type=changed`);
  const found = new Map(shown.events.map(({ event, noise }) => [event, noise?.outside]));
  expect(browser.map((event) => found.get(event.id))).toEqual([false, true]);
  const one = await preview(REGION, { event: browser[0]?.id });
  expect(one.diff).toMatchObject({ kind: 'image', region: REGION });
  const below = await preview({ ...REGION, y: 5_000 });
  expect(below.newest?.watch?.found.to).toBe(0);

  const watch = { region: REGION };
  expect((await node.node.sendJson('PATCH', `/manage/sources/${id}`, { watch })).status).toBe(200);
  await node.node.sendJson('POST', `/manage/sources/${id}/noise`, undefined);
  await eventually(async () => {
    const changes = await node.events(`source=${id}&observer=browser&event_type=changed`);
    expect(changes.map(({ outside }) => outside)).toEqual([false, true]);
  });
  const { items } = await node.read<PageList>(`/archive/pages?source=${id}`);
  const newest = await node.read<PageCapture>(`/archive/pages/${items[0]?.id}`);
  const { from, to } = await node.read<Diff>(`/api/events/${browser[0]?.id}/diff`);
  expect(to.sha256).toBe(newest.picture);
  expect(from.sha256).toBe(items[1]?.picture);
});

test('a region is refused where there is no picture, outside of any picture, and where an alert looks for words', async () => {
  const send = (method: string, path: string, body: object) => node.node.sendJson(method, path, body);
  const url = 'http://127.0.0.1:9/page';
  const watch = { region: REGION };
  expect(await refusal(send('POST', '/manage/sources', { url, watch }))).toBe('/watch/region');
  for (const wrong of [{ width: 0 }, { x: -1 }, { y: 19_999 }, { x: 3_900 }, { height: 1.5 }])
    expect(
      await refusal(
        send('POST', '/manage/sources', { url, capture: 'page', watch: { region: { ...REGION, ...wrong } } }),
      ),
      JSON.stringify(wrong),
    ).toMatch(/^\/watch/);
  const added = await send('POST', '/manage/sources', { url, capture: 'page', watch });
  const { id } = (await added.json()) as { id: string };
  expect(await refusal(send('PATCH', `/manage/sources/${id}`, { capture: 'object' }))).toBe('/watch/region');
  const to = [{ kind: 'desktop' }];
  const asking = [{ number: { above: 1 } }, { pattern: 'a' }, { appears: ['a'] }, { words: ['a'] }];
  for (const when of asking)
    expect(
      await refusal(send('POST', '/manage/alerts', { name: 'Fees', when: { ...when, sources: [id] }, to })),
    ).toBe('/when/sources/0');
  await send('PATCH', `/manage/sources/${id}`, { watch: null });
  const when = { pattern: 'a', sources: [id] };
  expect((await send('POST', '/manage/alerts', { name: 'Fees', when, to })).status).toBe(201);
  expect(await refusal(send('PATCH', `/manage/sources/${id}`, { watch }))).toBe('/watch/region');
});
