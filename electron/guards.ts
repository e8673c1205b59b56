import { type BrowserWindow, dialog, ipcMain, type Session, shell, type WebFrameMain } from 'electron';
import { z } from 'zod';
import type { RunningNode } from '../server/node.ts';
import { type DesktopPreferences, desktopPreferencesChangeSchema } from '../shared/node/owner.ts';
import { isDataPath } from '../shared/node/pages.ts';
import { type Archives, chooseFolder } from './archives.ts';
import type { DesktopCalls } from './channels.ts';
import type { Preferences, StoredPreferences } from './preferences.ts';

/** The only permission of a page: copying text, such as a digest, to the clipboard. */
const ALLOWED_PERMISSION = 'clipboard-sanitized-write';

/**
 * Denies camera, location, devices, notifications and every other permission that Chromium would ask for. Frames have no
 * permission at all: they show archived documents.
 */
export function setUpPermissions(session: Session): void {
  session.setPermissionRequestHandler((_contents, permission, callback, { isMainFrame }) =>
    callback(permission === ALLOWED_PERMISSION && isMainFrame),
  );
  session.setPermissionCheckHandler(
    (_contents, permission, _origin, { isMainFrame }) => permission === ALLOWED_PERMISSION && isMainFrame,
  );
  session.setDevicePermissionHandler(() => false);
}

/**
 * Keeps the window on the node's own pages. External links open in the browser after confirmation. Links to stored data
 * are downloaded, because untrusted content must never be shown in a window with access to the desktop API.
 */
export function setUpNavigation(window: BrowserWindow, nodeOrigin: string): void {
  const { webContents } = window;
  const guard = (event: { url: string; isMainFrame: boolean; preventDefault(): void }) => {
    const url = URL.parse(event.url);
    const isOwn = url !== null && isOwnPage(url, nodeOrigin);
    if (isOwn && (!event.isMainFrame || !isDataPath(url.pathname))) return;
    event.preventDefault();
    if (!event.isMainFrame) return;
    if (isOwn) webContents.downloadURL(event.url);
    else confirmAndOpen(window, event.url);
  };
  webContents.on('will-frame-navigate', guard);
  webContents.on('will-redirect', guard);
  webContents.setWindowOpenHandler(({ url }) => {
    // The browser on this machine can read the node's pages without a session, so it may open them.
    const parsed = URL.parse(url);
    if (parsed && isOwnPage(parsed, nodeOrigin)) shell.openExternal(parsed.href).catch(warn);
    else confirmAndOpen(window, url);
    return { action: 'deny' };
  });
  webContents.on('will-attach-webview', (event) => event.preventDefault());
}

/** A `blob:` URL has the origin of the page that made it, but its content can be a stranger's. */
function isOwnPage(url: URL, nodeOrigin: string): boolean {
  return isHttpAddress(url) && url.origin === nodeOrigin;
}

function confirmAndOpen(window: BrowserWindow, address: string): void {
  openExternalLink(window, address).catch(warn);
}

/** If the system cannot open the browser, the app must continue. */
function warn(error: unknown): void {
  console.warn('A link could not be opened.', error);
}

/** A longer URL would not fit into the dialog. */
const MAX_SHOWN_CHARACTERS = 500;

/** Opens an external http(s) URL in the system's browser after confirmation. URLs of other schemes are never opened. */
async function openExternalLink(window: BrowserWindow, address: string): Promise<void> {
  const url = URL.parse(address);
  if (url === null || !isHttpAddress(url)) return;
  const { href } = url;
  const { response } = await dialog.showMessageBox(window, {
    type: 'question',
    message: 'Open this link in your browser?',
    detail: href.length > MAX_SHOWN_CHARACTERS ? `${href.slice(0, MAX_SHOWN_CHARACTERS)}…` : href,
    buttons: ['Open in browser', 'Cancel'],
    defaultId: 0,
    cancelId: 1,
  });
  if (response === 0) await shell.openExternal(href);
}

function isHttpAddress(url: URL): boolean {
  return url.protocol === 'http:' || url.protocol === 'https:';
}

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
