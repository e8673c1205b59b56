import { type BrowserWindow, dialog, shell } from 'electron';

/** An address longer than this would not fit the question. */
const MAX_SHOWN_CHARACTERS = 500;

/** Asks, then opens an http(s) address of another machine in the system's browser. Any other kind is never opened. */
export async function openExternalLink(window: BrowserWindow, address: string): Promise<void> {
  const url = URL.parse(address);
  if (url === null || !isHttpAddress(url)) return;
  const { href } = url;
  const { response } = await dialog.showMessageBox(window, {
    type: 'question',
    message: 'Open this address in your browser?',
    detail: href.length > MAX_SHOWN_CHARACTERS ? `${href.slice(0, MAX_SHOWN_CHARACTERS)}…` : href,
    buttons: ['Open in browser', 'Cancel'],
    defaultId: 0,
    cancelId: 1,
  });
  if (response === 0) await shell.openExternal(href);
}

export function isHttpAddress(url: URL): boolean {
  return url.protocol === 'http:' || url.protocol === 'https:';
}
