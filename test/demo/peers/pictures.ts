import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright';
import { signIn } from '../../e2e/support/signIn.ts';
import { chromiumLaunchOptions } from '../../support/chromium.ts';
import type { DemoNode } from './demoNode.ts';
import { type Cast, laboratoryAt } from './story.ts';

/** A screenshot: its name, the node and the page that it shows, and the heading to scroll to. */
interface Picture {
  name: string;
  node: DemoNode;
  path: string;
  heading?: string;
}

/** What the interface says after the story, by file name. */
async function pictures({ laboratory, library, newspaper }: Cast): Promise<Picture[]> {
  const peer = await laboratoryAt(library);
  const { items: packs } = await library.api.call('listPacks', { query: { q: 'penguins', limit: '1' } });
  const { items: events } = await library.api.call('listEvents', { query: { limit: '1' } });
  return [
    { name: '1-library-sharing', node: library, path: '/sharing', heading: 'Peers' },
    { name: '2-library-peer', node: library, path: `/sharing/peers/${peer.id}` },
    { name: '3-library-restored', node: library, path: '/ledger' },
    { name: '4-library-pack', node: library, path: `/packs/${packs[0]?.id}` },
    { name: '5-library-event', node: library, path: `/timeline/${events[0]?.id}` },
    { name: '6-newspaper-refusal', node: newspaper, path: '/ledger', heading: 'Witnesses' },
    { name: '7-laboratory-refused', node: laboratory, path: '/ledger', heading: 'Witnesses' },
    { name: '8-library-overview', node: library, path: '/' },
  ];
}

/** Takes the pictures into a folder, each by day and by night. Returns their names. */
export async function takePictures(cast: Cast, folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const browser = await chromium.launch(chromiumLaunchOptions());
  const names: string[] = [];
  try {
    for (const look of ['light', 'dark'] as const) {
      const context = await browser.newContext({
        viewport: { width: 1440, height: 1000 },
        colorScheme: look,
        reducedMotion: 'reduce',
      });
      const page = await context.newPage();
      for (const node of Object.values(cast) as DemoNode[]) await signIn(page, node.signInLink());
      for (const picture of await pictures(cast)) {
        const name = `${picture.name}-${look}.png`;
        await writeFile(join(folder, name), await take(page, picture));
        names.push(name);
      }
      await context.close();
    }
  } finally {
    await browser.close();
  }
  return names;
}

async function take(page: Page, { node, path, heading }: Picture): Promise<Buffer> {
  await page.goto(node.url + path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  if (heading)
    await page
      .getByRole('heading', { name: heading, exact: true })
      .evaluate((element) => element.scrollIntoView({ block: 'start' }));
  return page.screenshot({ animations: 'disabled', caret: 'hide' });
}
