import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { setUpTray } from '../../electron/desktopIntegration.ts';
import type { DesktopWindows } from '../../electron/windows.ts';
import type { RunningNode } from '../../server/node.ts';
import { asked, forget, quitApp } from '../support/electronDouble.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

vi.mock('electron', () => import('../support/electronDouble.ts'));

let node: TestNode;
/** Makes the tray look at the state of the node, as it does every 30 seconds. */
let look = () => {};
/** The answers of the node to the tray. */
let answers = 0;

beforeEach(async () => {
  forget();
  answers = 0;
  node = await openTestNode();
  const onAway = (listener: () => void) => void (look = listener);
  const windows = { show: () => undefined } as unknown as DesktopWindows;
  setUpTray({ url: node.url, onAway } as unknown as RunningNode, windows);
});
afterEach(async () => {
  quitApp();
  vi.restoreAllMocks();
  await closeTestNodes();
});

const labels = () => asked.trayMenus.map(([state]) => state?.label);

test('the menu of the tray is replaced only when its first line changes, because an open one closes', async () => {
  await expect.poll(labels).toEqual(['starting', 'no sources are watched yet']);
  const request = fetch;
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (...asks) => {
    const answer = await request(...asks);
    const text = await answer.text();
    answers += 1;
    return new Response(text, answer);
  });
  look();
  await expect.poll(() => answers).toBe(1);
  look();
  await expect.poll(() => answers).toBe(2);
  expect((await node.sendJson('POST', '/manage/sources', { url: 'http://example.invalid/' })).status).toBe(
    201,
  );
  look();
  const all = ['starting', 'no sources are watched yet', '1 source, not checked yet'];
  await expect.poll(() => labels().at(-1)).toBe(all.at(-1));
  expect(labels()).toEqual(all);
  expect(asked.toolTips).toEqual(all.map((state) => `Strongroom: ${state}`));
});
