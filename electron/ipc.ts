import { ipcMain, shell, type WebFrameMain } from 'electron';
import { z } from 'zod';
import type { RunningNode } from '../server/node.ts';
import { type DesktopPreferences, desktopPreferencesChangeSchema } from '../shared/node/owner.ts';
import { type Archives, chooseFolder } from './archives.ts';
import type { DesktopCalls } from './channels.ts';
import type { Preferences, StoredPreferences } from './preferences.ts';

/** Handles the calls of the node's own pages. Calls from any other frame are refused. */
export function setUpIpc(
  node: RunningNode,
  preferences: Preferences,
  { archives, showLog }: { archives: Archives; showLog: () => void },
): void {
  const origin = new URL(node.url).origin;
  handle(origin, 'desktop:read-preferences', () => publicPart(preferences.current));
  handle(origin, 'desktop:change-preferences', (change) =>
    publicPart(preferences.change(desktopPreferencesChangeSchema.parse(change))),
  );
  handle(origin, 'desktop:show-data-folder', async () => {
    const failure = await shell.openPath(node.dataFolder);
    if (failure !== '') throw new Error(failure);
  });
  handle(origin, 'desktop:show-log', showLog);
  handle(origin, 'desktop:read-archives', () => archives.read());
  handle(origin, 'desktop:choose-folder', chooseFolder);
  handle(origin, 'desktop:open-archive', (folder) => archives.open(folderSchema.parse(folder)));
  handle(origin, 'desktop:create-archive', (folder) => archives.create(folderSchema.parse(folder)));
  handle(origin, 'desktop:move-archive', (folder) => archives.move(folderSchema.parse(folder)));
  handle(origin, 'desktop:read-move-progress', () => archives.progress);
}

const folderSchema = z.string().min(1).max(10_000);

type HandlerOf<Channel extends keyof DesktopCalls> = (
  ...args: Parameters<DesktopCalls[Channel]>
) => ReturnType<DesktopCalls[Channel]> | Promise<ReturnType<DesktopCalls[Channel]>>;

/** The arguments come from a page: each handler must check them. */
function handle<Channel extends keyof DesktopCalls>(
  origin: string,
  channel: Channel,
  handler: HandlerOf<Channel>,
): void {
  ipcMain.handle(channel, (event, ...args) => {
    if (!isMainFrameOf(event.senderFrame, origin))
      throw new Error('Only the node’s own page may make this call.');
    return handler(...(args as Parameters<DesktopCalls[Channel]>));
  });
}

/** Archived pages have the node's URL but are sandboxed, so their origin is opaque and differs. */
function isMainFrameOf(frame: WebFrameMain | null, origin: string): boolean {
  return frame !== null && frame.parent === null && frame.origin === origin;
}

function publicPart({ keep_running, open_at_login }: StoredPreferences): DesktopPreferences {
  return { keep_running, open_at_login };
}
