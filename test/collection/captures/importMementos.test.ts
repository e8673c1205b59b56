import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CaptureResult } from '../../../shared/collection/captures.ts';
import type { Job } from '../../../shared/node/job.ts';
import {
  closeScriptedWebs,
  page,
  redirect,
  ScriptedWeb,
  silence,
} from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { sha256 } from '../../support/warcFiles.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { bytesOf, sourceNamed } from './support.ts';

const ORIGINAL = 'http://example.com/levels?a=1,2';
const NOON = ['20200101120000', 'Wed, 01 Jan 2020 12:00:00 GMT'] as const;
const SECOND = ['20200102120000', 'Thu, 02 Jan 2020 12:00:00 GMT'] as const;
const THIRD = ['20200103120000', 'Fri, 03 Jan 2020 12:00:00 GMT'] as const;

let node: CollectingNode;
let web: ScriptedWeb;

beforeEach(async () => {
  node = await openCollectingNode();
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

function ask(body: object, query = ''): Promise<Response> {
  return node.node.sendJson('POST', `/manage/captures?observer=Archive${query}`, body);
}

async function importListed(more: object = {}, path = '/timemap'): Promise<CaptureResult> {
  const answer = await ask({ timemap: web.url(path), ...more });
  const result: unknown = await answer.json();
  expect([answer.status, result]).toEqual([200, expect.anything()]);
  return result as CaptureResult;
}

/** Scripts a memento in its original form; its replay address serves a rewritten page. */
function memento(
  [stamp, date]: readonly [string, string],
  body: string,
  options: { status?: number } = {},
): void {
  web.script(`/web/${stamp}/${ORIGINAL}`, page('rewritten'));
  web.script(
    `/web/${stamp}id_/${ORIGINAL}`,
    page(body, { ...options, headers: { 'Memento-Datetime': date } }),
  );
}

function links(...mementos: (readonly [string, string])[]): string {
  return [
    `<${ORIGINAL}>; rel="original"`,
    `<${web.url('/timemap')}>; rel="self"; type="application/link-format"`,
    `<${web.url('/timegate')}>; rel="timegate"`,
    ...mementos.map(
      ([stamp, date], index) =>
        `<${web.url(`/web/${stamp}/${ORIGINAL}`)}>; rel="${index === 0 ? 'first ' : ''}memento"; datetime="${date}"`,
    ),
  ].join(',\n');
}

const asLinks = { headers: { 'Content-Type': 'application/link-format' } };

describe('importing from a Memento archive (contract, section 3)', () => {
  test('imports the captures in their original form, oldest first, with their capture times', async () => {
    memento(SECOND, 'two');
    memento(NOON, 'one');
    web.script('/timemap', page(links(SECOND, NOON), asLinks));
    expect(await importListed()).toEqual({
      captures: 2,
      already_held: 0,
      skipped: 0,
      events: [1, 2],
      refused: [],
    });
    const { id, paused } = await sourceNamed(node, ORIGINAL);
    expect(paused).toBe(true);
    expect(await node.retrievals(id)).toMatchObject([
      {
        observer: 'Archive',
        original_observed_at: '2020-01-01T12:00:00.000Z',
        final_url: web.url(`/web/${NOON[0]}id_/${ORIGINAL}`),
        sha256: sha256('one'),
      },
      { original_observed_at: '2020-01-02T12:00:00.000Z', sha256: sha256('two') },
    ]);
    expect(await bytesOf(node, sha256('two'))).toBe('two');
    expect(await node.timeline()).toEqual(['first_seen', 'changed']);
  });

  test('refuses a capture whose time is out of range', async () => {
    memento([NOON[0], '+012345-01-01T00:00:00Z'], 'one');
    web.script('/timemap', page(links(NOON), asLinks));
    expect(await importListed()).toMatchObject({
      captures: 0,
      refused: [{ reason: 'malformed_date', count: 1 }],
    });
  });

  test('does not fetch captures that are already held', async () => {
    memento(NOON, 'one');
    web.script('/timemap', page(links(NOON), asLinks));
    await importListed();
    expect(await importListed()).toMatchObject({ captures: 0, already_held: 1 });
    expect(web.requests(`/web/${NOON[0]}id_/${ORIGINAL}`)).toHaveLength(1);
  });

  test('respects the requested time range and limit', async () => {
    for (const moment of [NOON, SECOND, THIRD]) memento(moment, moment[0]);
    web.script('/timemap', page(links(NOON, SECOND, THIRD), asLinks));
    expect(await importListed({ from: '2020-01-02', to: '2020-01-02' })).toMatchObject({
      captures: 1,
      refused: [],
    });
    expect(await importListed({ limit: 1 })).toMatchObject({
      captures: 1,
      refused: [{ reason: 'beyond_limit', count: 2 }],
    });
  });

  test('reads a TimeMap of several pages', async () => {
    memento(NOON, 'one');
    memento(SECOND, 'two');
    const next = `,\n<${web.url('/timemap/2')}>; rel="timemap"; type="application/link-format"`;
    web.script('/timemap', page(links(NOON) + next, asLinks));
    web.script('/timemap/2', page(links(SECOND), asLinks));
    expect(await importListed()).toMatchObject({ captures: 2 });
  });

  test.each([
    [
      'JSON',
      () => ({
        original_uri: ORIGINAL,
        mementos: {
          list: [{ datetime: '2020-01-01T12:00:00Z', uri: web.url(`/web/${NOON[0]}/${ORIGINAL}`) }],
        },
      }),
    ],
    [
      'rows of a CDX index',
      () => [
        ['urlkey', 'timestamp', 'original'],
        ['com,example)/', NOON[0], ORIGINAL],
      ],
    ],
    ['objects of a CDX index', () => ({ urlkey: 'com,example)/', timestamp: NOON[0], url: ORIGINAL })],
  ])('reads a TimeMap in the form of %s', async (_form, map) => {
    memento(NOON, 'one');
    web.script(
      '/web/timemap/json/x',
      page(JSON.stringify(map()), { headers: { 'Content-Type': 'application/json' } }),
    );
    expect(await importListed({}, '/web/timemap/json/x')).toMatchObject({ captures: 1, refused: [] });
  });

  test('imports a captured error page, but not an error of the archive itself', async () => {
    memento(NOON, 'gone', { status: 404 });
    web.script(`/web/${SECOND[0]}id_/${ORIGINAL}`, page('We have no such page', { status: 404 }));
    web.script('/timemap', page(links(NOON, SECOND), asLinks));
    expect(await importListed()).toMatchObject({
      captures: 1,
      events: [],
      refused: [{ reason: 'no_memento', count: 1 }],
    });
    const { id } = await sourceNamed(node, ORIGINAL);
    expect(await node.retrievals(id)).toMatchObject([
      { status: 404, error: 'http_error', sha256: sha256('gone') },
    ]);
  });

  test('imports the target of a redirect to another capture, with its time', async () => {
    memento(SECOND, 'two');
    web.script(`/web/${NOON[0]}id_/${ORIGINAL}`, redirect(`/web/${SECOND[0]}id_/${ORIGINAL}`));
    web.script('/timemap', page(links(NOON), asLinks));
    expect(await importListed()).toMatchObject({ captures: 1 });
    const { id } = await sourceNamed(node, ORIGINAL);
    expect(await node.retrievals(id)).toMatchObject([
      { original_observed_at: '2020-01-02T12:00:00.000Z', redirects: [{ status: 302 }] },
    ]);
  });

  test('obeys robots.txt, unless ignore_robots is set', async () => {
    memento(NOON, 'one');
    web.script(
      '/robots.txt',
      page('User-agent: *\nDisallow: /web/', { headers: { 'Content-Type': 'text/plain' } }),
    );
    web.script('/timemap', page(links(NOON), asLinks));
    expect(await importListed()).toMatchObject({
      captures: 0,
      refused: [{ reason: 'robots_disallowed', count: 1 }],
    });
    expect(await importListed({ ignore_robots: true })).toMatchObject({ captures: 1 });
  });

  test('is a job that can be cancelled, and keeps the captures recorded before', async () => {
    memento(NOON, 'one');
    web.script(`/web/${SECOND[0]}id_/${ORIGINAL}`, silence);
    web.script('/timemap', page(links(NOON, SECOND), asLinks));
    const job = (await (await ask({ timemap: web.url('/timemap') }, '&wait=false')).json()) as Job;
    await web.asked(`/web/${SECOND[0]}id_/${ORIGINAL}`);
    expect(await node.read(`/manage/jobs/${job.id}`)).toMatchObject({
      kind: 'import',
      progress: { done: 1, total: 2, unit: 'records' },
    });
    const ended = (await (
      await node.node.fetchAsOwner(`/manage/jobs/${job.id}`, { method: 'DELETE' })
    ).json()) as Job;
    expect(ended).toMatchObject({
      state: 'cancelled',
      result: { captures: 1, refused: [{ reason: 'cancelled', count: 1 }] },
    });
    expect(await node.timeline()).toEqual(['first_seen']);
  });

  test.each([
    ['an HTML page', page('<html>hello</html>')],
    ['other JSON', page('{"a":1}')],
    ['an error', page('no', { status: 500 })],
  ])('is refused if the TimeMap is %s', async (_what, step) => {
    web.script('/timemap', step);
    const answer = await ask({ timemap: web.url('/timemap') });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
      422,
      'invalid_capture',
    ]);
  });

  test.each([
    [{}, 'invalid_field'],
    [{ timemap: 'ftp://example.com/' }, 'invalid_field'],
    [{ timemap: 'http://example.com/', limit: 0 }, 'invalid_field'],
    [{ timemap: 'http://example.com/', more: 1 }, 'unknown_field'],
  ])('refuses the request %j', async (body, code) => {
    const answer = await ask(body);
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([422, code]);
  });
});
