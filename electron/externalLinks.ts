import { type BrowserWindow, dialog, shell } from 'electron';

/** A longer URL would not fit into the dialog. */
const MAX_SHOWN_CHARACTERS = 500;

/** Opens an external http(s) URL in the system's browser after confirmation. URLs of other schemes are never opened. */
export async function openExternalLink(window: BrowserWindow, address: string): Promise<void> {
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
