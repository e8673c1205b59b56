import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium, type Page } from 'playwright';
import { buildIfStale } from '../../server/launch/build.ts';
import { openNode } from '../../server/node.ts';
import { createLog } from '../../server/runtime/log.ts';
import { openOwnerApi } from '../demo/ownerApi.ts';
import { chromiumLaunchOptions } from '../support/chromium.ts';
import { type DemoPage, demoPages, fillWithDemo, openDemoPage } from './support/demoPages.ts';
import { openScriptedWeb } from './support/scriptedWeb.ts';
import { signIn } from './support/signIn.ts';

const PICTURES = resolve(import.meta.dirname, '../../docs/pictures');
const SIZE = { width: 1440, height: 900 };
/** The screenshots are kept in the repository, so they must be small. */
const MAX_BYTES = 300_000;

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
    await fillWithDemo(api, web);
    await api.call('changeSettings', { body: { timestamps_answered: true } });
    await mkdir(PICTURES, { recursive: true });
    for (const look of ['light', 'dark'] as const) {
      const context = await browser.newContext({
        viewport: SIZE,
        colorScheme: look,
        reducedMotion: 'reduce',
      });
      const page = await context.newPage();
      await signIn(page, node.createSignInLink());
      for (const picture of await demoPages(api)) await take(page, node.url, picture, look);
      await context.close();
    }
  } finally {
    await browser.close();
    await node.close();
    await web.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function take(page: Page, nodeUrl: string, shown: DemoPage, look: string): Promise<void> {
  await openDemoPage(page, nodeUrl, shown);
  const picture = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  if (picture.length > MAX_BYTES) {
    throw new Error(
      `The picture ${shown.name}-${look} has ${picture.length} bytes; ${MAX_BYTES} are allowed.`,
    );
  }
  await writeFile(join(PICTURES, `${shown.name}-${look}.png`), picture);
  say(`${shown.name}-${look}.png, ${Math.round(picture.length / 1000)} KB`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await takePictures();
