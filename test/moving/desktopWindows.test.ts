import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Preferences } from '../../electron/preferences.ts';
import { DesktopWindows } from '../../electron/windows.ts';
import type { RunningNode } from '../../server/node.ts';
import type { Log } from '../../server/runtime/log.ts';
import { asked, forget } from '../support/electronDouble.ts';

vi.mock('electron', () => import('../support/electronDouble.ts'));

const platform = process.platform;
const useSystem = (name: NodeJS.Platform) => Object.defineProperty(process, 'platform', { value: name });

beforeEach(() => {
  forget();
  useSystem('win32');
});
afterEach(() => void useSystem(platform));

test('on Windows each window shows the dot of unseen events, also one that is opened later', async () => {
  const url = 'http://127.0.0.1:1';
  const windows = await DesktopWindows.open({
    node: { url, createSignInLink: () => `${url}/sign-in/once` } as unknown as RunningNode,
    preferences: { current: {} } as unknown as Preferences,
    log: {} as unknown as Log,
    hidden: false,
  });
  windows.showUnseen(2);
  expect(asked.overlays).toEqual(['2 unseen events']);
  await windows.openAnother();
  expect(asked.overlays).toEqual(['2 unseen events', '2 unseen events']);
  windows.showUnseen(0);
  expect(asked.overlays).toEqual(['none', 'none']);
});
