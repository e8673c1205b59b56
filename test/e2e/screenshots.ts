import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { chromium, type Page } from 'playwright';
import { buildIfStale } from '../../server/launch/build.ts';
import { openNode } from '../../server/node.ts';
import { createLog } from '../../server/runtime/log.ts';
import type { Pack } from '../../shared/archive/pack.ts';
import { type OwnerApi, openOwnerApi } from '../demo/ownerApi.ts';
import { publishDemoPacks } from '../demo/packs.ts';
import { collectDemoSources } from '../demo/sources.ts';
import { chromiumLaunchOptions } from '../support/chromium.ts';
import { openScriptedWeb } from './support/scriptedWeb.ts';

const PICTURES = resolve(import.meta.dirname, '../../docs/pictures');
const SIZE = { width: 1440, height: 900 };
/** The screenshots are kept in the repository, so they must be small. */
const MAX_BYTES = 300_000;
const LOOK_AGAIN_MS = 200;

/** A screenshot: its name, its page, and what is done on the page first. */
interface Picture {
  name: string;
  path: string;
  prepare?: (page: Page) => Promise<unknown>;
}

/** Fills an archive with the demonstration and takes a screenshot of each main page in both themes. */
async function takePictures(): Promise<void> {
  await buildIfStale('renderer', say);
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-pictures-'));
  const web = await openScriptedWeb();
  const node = await openNode({
    dataFolder: folder,
    port: 0,
    collect: false,
    idleMs: 0,
    log: createLog('warn'),
  });
  const browser = await chromium.launch(chromiumLaunchOptions());
  try {
    const api = await openOwnerApi(node);
    await publishDemoPacks(api);
    await collectDemoSources(api, web);
    await api.call('startAudit', { query: { wait: 'true' } });
    await waitForSummaries(api);
    await mkdir(PICTURES, { recursive: true });
    for (const look of ['light', 'dark'] as const) {
      const context = await browser.newContext({
        viewport: SIZE,
        colorScheme: look,
        reducedMotion: 'reduce',
      });
      const page = await context.newPage();
      await page.goto(node.createSignInLink());
      for (const picture of await pictures(api)) await take(page, node.url, picture, look);
      await context.close();
    }
  } finally {
    await browser.close();
    await node.close();
    await web.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Waits until the node has summarized every change, which it does in the background. */
async function waitForSummaries(api: OwnerApi): Promise<void> {
  const isSummarized = async () => {
    const { items } = await api.call('listEvents', { query: { event_type: 'changed', limit: '500' } });
    return items.every(({ summary }) => summary !== null);
  };
  while (!(await isSummarized())) await setTimeout(LOOK_AGAIN_MS);
}

async function pictures(api: OwnerApi): Promise<Picture[]> {
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
    { name: 'verify', path: '/verify', prepare: (page) => verifyFiles(page, api, packs.items[0]) },
  ];
}

/** Starts a draft: adds files and fills in a part of the record. */
async function assemble(page: Page): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Add files' }).click();
  const data = resolve(import.meta.dirname, '../../node_modules/vega-datasets/data');
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

async function take(
  page: Page,
  nodeUrl: string,
  { name, path, prepare }: Picture,
  look: string,
): Promise<void> {
  await page.goto(nodeUrl + path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await prepare?.(page);
  // Wait until everything has loaded, every file is hashed and the draft is saved.
  await page.waitForFunction(() => !/(Loading|hashing|Saving)/.test(document.body.innerText));
  await page.waitForLoadState('networkidle');
  const picture = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  if (picture.length > MAX_BYTES) {
    throw new Error(`The picture ${name}-${look} has ${picture.length} bytes; ${MAX_BYTES} are allowed.`);
  }
  await writeFile(join(PICTURES, `${name}-${look}.png`), picture);
  say(`${name}-${look}.png, ${Math.round(picture.length / 1000)} KB`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await takePictures();
