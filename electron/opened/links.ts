import { app, dialog, shell } from 'electron';
import { parsePeerLink } from '../../shared/node/peer.ts';
import type { DesktopWindows } from '../windows.ts';

/** The scheme of the app's links, before a complete link: `strongroom:https://archive.example/sharing#key=…`. */
export const LINK_SCHEME = 'strongroom:';
/** A longer link is neither an invitation nor that of a peer. */
const MAX_CHARACTERS = 2_000;
const INVITATION = /^#invitation-[0-9a-f]{1,200}$/;

/** Has the system open links with the app's scheme. Only an installed app: a checkout would register its Electron. */
export function registerLinkScheme(): void {
  // On Windows, nothing after `--` can be a switch.
  if (app.isPackaged) app.setAsDefaultProtocolClient(LINK_SCHEME.slice(0, -1), process.execPath, ['--']);
}

/** A link that the app opens. Everything else is refused. */
export type OpenedLink = { peer: string } | { invitation: URL };

/**
 * Reads a link with the app's scheme. Any web page can make one.
 *
 * @returns undefined unless it is a link of a peer or an invitation, as the page Sharing makes them
 */
export function readLink(address: string): OpenedLink | undefined {
  if (!address.startsWith(LINK_SCHEME) || address.length > MAX_CHARACTERS) return undefined;
  const link = address.slice(LINK_SCHEME.length);
  // URL.parse removes some of these.
  if (!/^[\x21-\x7e]+$/.test(link)) return undefined;
  const url = URL.parse(link);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search) return undefined;
  if (parsePeerLink(link)) return { peer: url.href };
  if (url.pathname.endsWith('/sharing') && INVITATION.test(url.hash)) return { invitation: url };
  return undefined;
}

let isAsking = false;

/**
 * Opens a link. That of a peer fills in the form “Add a peer”, which the owner may send or close. An invitation is for another
 * node, and so for the browser; it is opened there after confirmation. While a question is shown, further links are dropped:
 * a page could make any number of them.
 */
export async function openLink(address: string, windows: DesktopWindows): Promise<void> {
  if (isAsking) return;
  windows.show();
  const link = readLink(address);
  if (link && 'peer' in link) return windows.goTo(`/sharing#add-peer=${encodeURIComponent(link.peer)}`);
  isAsking = true;
  try {
    if (link) await confirmInvitation(link.invitation);
    else await sayRefused();
  } finally {
    isAsking = false;
  }
}

async function confirmInvitation(url: URL): Promise<void> {
  const { response } = await dialog.showMessageBox({
    type: 'question',
    message: 'Open this invitation in your browser?',
    detail: `It lets you contribute to the archive at ${url.origin}. The archive learns the address of this machine.`,
    buttons: ['Open in browser', 'Cancel'],
    defaultId: 1,
    cancelId: 1,
  });
  if (response === 0) await shell.openExternal(url.href);
}

async function sayRefused(): Promise<void> {
  await dialog.showMessageBox({
    type: 'warning',
    message: 'Strongroom does not open this link',
    detail: 'It is neither an invitation nor the link of a peer. Nothing was changed.',
    buttons: ['Close'],
  });
}
