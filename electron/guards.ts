import { type BrowserWindow, dialog, type Session, shell } from 'electron';
import { isDataPath } from '../shared/node/pages.ts';

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
