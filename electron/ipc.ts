import { ipcMain, shell, type WebFrameMain } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { type DesktopPreferences, desktopPreferencesChangeSchema } from '../shared/desktop.ts';
import type { DesktopCalls } from './channels.ts';
import type { Preferences, StoredPreferences } from './preferences.ts';

/** Answers what the node's own pages ask of the desktop. What any other frame asks is refused. */
export function setUpIpc(node: RunningNode, preferences: Preferences): void {
  const origin = new URL(node.url).origin;
  answer(origin, 'desktop:read-preferences', () => publicPart(preferences.current));
  answer(origin, 'desktop:change-preferences', (change) =>
    publicPart(preferences.change(desktopPreferencesChangeSchema.parse(change))),
  );
  answer(origin, 'desktop:show-data-folder', async () => {
    const failure = await shell.openPath(node.dataFolder);
    if (failure !== '') throw new Error(failure);
  });
}

type AnswerTo<Channel extends keyof DesktopCalls> = (
  ...args: Parameters<DesktopCalls[Channel]>
) => ReturnType<DesktopCalls[Channel]> | Promise<ReturnType<DesktopCalls[Channel]>>;

/** The arguments come from a page: whoever uses them checks them. */
function answer<Channel extends keyof DesktopCalls>(
  origin: string,
  channel: Channel,
  give: AnswerTo<Channel>,
): void {
  ipcMain.handle(channel, (event, ...args) => {
    if (!isMainFrameOf(event.senderFrame, origin)) throw new Error('Only the node’s own page may ask this.');
    return give(...(args as Parameters<DesktopCalls[Channel]>));
  });
}

/** An archived page is sandboxed, so its origin is opaque although its address is the node's. */
function isMainFrameOf(frame: WebFrameMain | null, origin: string): boolean {
  return frame !== null && frame.parent === null && frame.origin === origin;
}

function publicPart({ keep_running, notify }: StoredPreferences): DesktopPreferences {
  return { keep_running, notify };
}
