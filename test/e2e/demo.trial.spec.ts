import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Pack, PackVerification } from '../../shared/archive/pack.ts';
import { test as base, expect } from './support/fixtures.ts';
import { type NodeProcess, startNode } from './support/nodeProcess.ts';

const root = resolve(import.meta.dirname, '../..');

/** The tests of this file share one archive, filled by `npm run demo -- --once`. */
const test = base.extend<object, { filled: NodeProcess }>({
  filled: [
    // oxlint-disable-next-line no-empty-pattern -- Playwright reads which fixtures a test needs from the pattern.
    async ({}, use) => {
      const folder = await mkdtemp(join(tmpdir(), 'strongroom-demo-'));
      const dataFolder = join(folder, 'archive');
      await promisify(execFile)(process.execPath, [
        join(root, 'test/demo/demo.ts'),
        '--once',
        '--data',
        dataFolder,
      ]);
      const node = await startNode({ dataFolder });
      await use(node);
      await node.stop();
      await rm(folder, { recursive: true, force: true });
    },
    { scope: 'worker' },
  ],
  node: async ({ filled }, use) => use(filled),
});

async function get<Answer>(node: NodeProcess, path: string): Promise<Answer> {
  return (await (await fetch(new URL(path, node.url))).json()) as Answer;
}

test('the demonstration has correct results, replications and every type of event, and all of it verifies', async ({
  node,
}) => {
  const { items: packs } = await get<{ items: Pack[] }>(node, '/api/packs');
  const pooled = packs.find(({ title }) => title.endsWith('penguins, all species'));
  // The value that the authors of the data set published.
  expect(pooled).toMatchObject({
    license: 'CC0-1.0',
    outcome: 'positive',
    tag: 'replicable',
    results: { n: 342, pearson_r: 0.8712 },
    evidence: { reproduced: 1 },
  });
  expect(new Set(packs.map(({ outcome }) => outcome))).toEqual(
    new Set(['positive', 'negative', 'null', 'mixed']),
  );
  for (const { id } of packs) {
    expect(await get<PackVerification>(node, `/api/packs/${id}/verify`)).toMatchObject({ ok: true });
  }
  const { items: events } = await get<{ items: { event_type: string; reverts_to: number | null }[] }>(
    node,
    '/api/events',
  );
  expect(new Set(events.map(({ event_type }) => event_type))).toEqual(
    new Set(['first_seen', 'changed', 'unavailable', 'disappeared', 'recovered']),
  );
  expect(events.some(({ reverts_to }) => reverts_to !== null)).toBe(true);
  expect(await get(node, '/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
});

test('every page is accessible with a filled archive, in both themes', async ({ page, node, checks }) => {
  test.slow();
  const { items: packs } = await get<{ items: Pack[] }>(node, '/api/packs?sort=-replications');
  const { items: studies } = await get<{ items: { id: string }[] }>(node, '/api/studies');
  const { items: sources } = await get<{ items: { id: string }[] }>(node, '/api/sources');
  const { items: events } = await get<{ items: { id: number }[] }>(node, '/api/events?event_type=changed');
  for (const path of [
    '/',
    '/packs',
    `/packs/${packs[0]?.id}`,
    '/studies',
    `/studies/${studies[0]?.id}`,
    '/nodes',
    '/nodes/biology/penguins',
    '/sources',
    `/sources/${sources[0]?.id}`,
    '/timeline',
    `/timeline/${events[0]?.id}`,
    '/search?q=mime',
    '/ledger',
    '/settings',
  ]) {
    await page.goto(path);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expect(page.getByText('Loading…')).toHaveCount(0);
    await checks.accessible(page);
  }
});

test('the demonstration of peers repairs a damaged object, finds a rewritten history, and shows both', async () => {
  test.slow();
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-demo-'));
  const script = join(root, 'test/demo/demo.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [
    script,
    '--peers',
    '--once',
    '--data',
    folder,
  ]);
  expect(stdout).toContain('Its audit restored it from a peer.');
  expect(stdout).toContain('Both others noticed, and keep the evidence.');
  expect(await readdir(join(folder, 'pictures'))).toHaveLength(16);
  await rm(folder, { recursive: true, force: true });
});
