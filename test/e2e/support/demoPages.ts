import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Page } from 'playwright';
import type { Pack } from '../../../shared/archive/pack.ts';
import type { OwnerApi } from '../../demo/ownerApi.ts';
import { publishDemoPacks } from '../../demo/packs.ts';
import { collectDemoSources } from '../../demo/sources.ts';
import type { ScriptedWeb } from './scriptedWeb.ts';

const POLL_MS = 200;

/** A state of a page of the demonstration: its name, its path, and what is done on the page first. */
export interface DemoPage {
  name: string;
  path: string;
  prepare?: (page: Page) => Promise<unknown>;
}

/** Fills an archive with the demonstration. */
export async function fillWithDemo(api: OwnerApi, web: ScriptedWeb): Promise<void> {
  await publishDemoPacks(api);
  await collectDemoSources(api, web);
  await api.call('startAudit', { query: { wait: 'true' } });
  await waitForSummaries(api);
  await withholdSome(api);
}

/** Withholds what no other picture shows: the least replicated pack, and the oldest version of a page. */
async function withholdSome(api: OwnerApi): Promise<void> {
  const { items: packs } = await api.call('listPacks', { query: { sort: 'replications', limit: '1' } });
  const { items: events } = await api.call('listEvents', { query: { event_type: 'first_seen', limit: '1' } });
  const [pack] = packs;
  const sha256 = events[0]?.sha256;
  if (!pack || !sha256) throw new Error('The demonstration has no pack, or no version of a page.');
  const note = 'We asked the authors. Until they answer, the files are not shown.';
  await api.call('withhold', { body: { pack: pack.id, reason: 'copyright', note } });
  await api.call('withhold', { body: { sha256, reason: 'personal_data' } });
}

/** Waits until the node has summarized every change, which it does in the background. */
async function waitForSummaries(api: OwnerApi): Promise<void> {
  const isSummarized = async () => {
    const { items } = await api.call('listEvents', { query: { event_type: 'changed', limit: '500' } });
    return items.every(({ summary }) => summary !== null);
  };
  while (!(await isSummarized())) await setTimeout(POLL_MS);
}

/** The main pages, in the order of the navigation. */
export async function demoPages(api: OwnerApi): Promise<DemoPage[]> {
  const packs = await api.call('listPacks', { query: { sort: '-replications', limit: '1' } });
  const { items: studies } = await api.call('listStudies', { query: { q: 'penguins' } });
  const changed = await api.call('listEvents', { query: { event_type: 'changed', q: 'release notes' } });
  const reworded = await api.call('listEvents', { query: { event_type: 'changed', q: 'introduction' } });
  const { items: sources } = await api.call('listSources', { query: { q: 'release notes' } });
  const [viewed] = changed.items;
  return [
    { name: 'overview', path: '/' },
    { name: 'packs', path: '/packs' },
    { name: 'pack', path: `/packs/${packs.items[0]?.id}` },
    { name: 'assemble', path: '/assemble', prepare: assemble },
    { name: 'studies', path: '/studies' },
    { name: 'study', path: `/studies/${studies[0]?.id}` },
    { name: 'nodes', path: '/nodes' },
    { name: 'sources', path: '/sources' },
    { name: 'source', path: `/sources/${sources[0]?.id}` },
    { name: 'timeline', path: '/timeline' },
    { name: 'event', path: `/timeline/${reworded.items[0]?.id}` },
    { name: 'ledger', path: '/ledger', prepare: verifyLedger },
    { name: 'view', path: `/view/${viewed?.sha256}?source=${viewed?.source.id}` },
    { name: 'withheld', path: '/withheld' },
    { name: 'verify', path: '/verify', prepare: (page) => verifyFiles(page, api, packs.items[0]) },
  ];
}

/** Starts a draft: adds files and fills in a part of the record. */
async function assemble(page: Page): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Add files' }).click();
  const data = resolve(import.meta.dirname, '../../../node_modules/vega-datasets/data');
  await (await chooser).setFiles([join(data, 'seattle-weather.csv'), join(data, 'weather.csv')]);
  await page.getByLabel('Title', { exact: true }).fill('Wind and rain in Seattle and New York');
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace');
  // The draft is checked a moment after the last change.
  await page.getByText('Enter a title.').first().waitFor({ state: 'hidden' });
  await page.getByRole('complementary', { name: 'Publish' }).scrollIntoViewIfNeeded();
  await page.evaluate(() => window.scrollTo(0, 0));
}

async function verifyLedger(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText('verified. No faults found.').waitFor();
}

/** Verifies the files of a pack, one of them with another byte, against a list of their digests. */
async function verifyFiles(page: Page, { url }: OwnerApi, pack: Pack | undefined): Promise<void> {
  const chosen: { name: string; mimeType: string; buffer: Buffer }[] = [];
  const lines: string[] = [];
  for (const { path, sha256, media_type: mimeType } of pack?.files ?? []) {
    const name = path.split('/').at(-1) ?? path;
    const buffer = Buffer.from(await (await fetch(new URL(`/api/blobs/${sha256}`, url))).arrayBuffer());
    const isAltered = chosen.length === 0;
    chosen.push({ name, mimeType, buffer: isAltered ? Buffer.concat([buffer, Buffer.from(' ')]) : buffer });
    lines.push(`${sha256}  ${name}\n`);
  }
  chosen.push({ name: 'SHA256SUMS', mimeType: 'text/plain', buffer: Buffer.from(lines.join('')) });
  await page.locator('input[type=file]').first().setInputFiles(chosen);
  await page.getByText('SHA256SUMS').first().waitFor();
}

/** Opens a page, prepares it, and waits until everything has loaded, every file is hashed and the draft is saved. */
export async function openDemoPage(page: Page, nodeUrl: string, { path, prepare }: DemoPage): Promise<void> {
  await page.goto(nodeUrl + path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await prepare?.(page);
  // The changelog on the page Help has these words.
  if (path !== '/help')
    await page.waitForFunction(() => !/(Loading|hashing|Saving)/.test(document.body.innerText));
  await page.waitForLoadState('networkidle');
}
