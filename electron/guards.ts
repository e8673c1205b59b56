import { type BrowserWindow, type Session, shell, type WebContents } from 'electron';
import { isDataPath } from '../shared/pages.ts';
import { openExternalLink } from './externalLinks.ts';

/** What a page may use of the machine: copying a digest, and nothing else. */
const ALLOWED_PERMISSION = 'clipboard-sanitized-write';

/** No page gets at camera, position, devices, notifications or anything else that Chromium would ask about. */
export function setUpPermissions(session: Session): void {
  session.setPermissionRequestHandler((_contents, permission, answer) =>
    answer(permission === ALLOWED_PERMISSION),
  );
  session.setPermissionCheckHandler((_contents, permission) => permission === ALLOWED_PERMISSION);
  session.setDevicePermissionHandler(() => false);
}

/**
 * Keeps the window on the node's own pages. An address of another machine is asked about and goes to the browser; an
 * address of data on the node, whose bytes strangers wrote, is saved, never shown with the bridge to the desktop.
 */
export function setUpNavigation(window: BrowserWindow, nodeOrigin: string): void {
  const { webContents } = window;
  const guard = (event: { url: string; isMainFrame: boolean; preventDefault(): void }) => {
    const url = URL.parse(event.url);
    const isOwn = url?.origin === nodeOrigin;
    if (isOwn && (!event.isMainFrame || !isDataPath(url.pathname))) return;
    event.preventDefault();
    if (!event.isMainFrame) return;
    if (isOwn) webContents.downloadURL(event.url);
    else askAbout(window, event.url);
  };
  webContents.on('will-frame-navigate', guard);
  webContents.on('will-redirect', guard);
  webContents.setWindowOpenHandler(({ url }) => {
    // What the node serves is readable without a session on this machine, so the browser may show it.
    if (URL.parse(url)?.origin === nodeOrigin) shell.openExternal(url).catch(warn);
    else askAbout(window, url);
    return { action: 'deny' };
  });
  refuseWebviews(webContents);
}

function askAbout(window: BrowserWindow, address: string): void {
  openExternalLink(window, address).catch(warn);
}

function refuseWebviews(contents: WebContents): void {
  contents.on('will-attach-webview', (event) => event.preventDefault());
}

/** A browser that does not open is the system's fault and shows by itself; it must not end the app. */
function warn(error: unknown): void {
  console.warn('An address could not be opened.', error);
}
