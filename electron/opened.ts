import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { app, dialog, shell } from 'electron';
import type { RunningNode } from '../server/node.ts';
import type { SidebarPage } from '../shared/node/pages.ts';
import { parsePeerLink } from '../shared/node/peer.ts';
import type { DesktopWindows } from './windows.ts';

const PACK_EXTENSION = '.pack.zip';

/** What the system asks the app to open. */
type OpenedItem = { file: string } | { link: string } | { page: string };

export interface OpenedItems {
  open(item: OpenedItem): void;
  /** Calls the listener for each queued item, and then for each new one. */
  handOver(listener: (item: OpenedItem) => void): void;
}

/**
 * Queues what the system asks the app to open: pack files, links with the app's scheme and pages of the jump list. macOS sends
 * events, some before `ready`; elsewhere they are on the command line of this process or of a second one.
 */
export function queueOpenedItems(): OpenedItems {
  const waiting = itemsIn(process.argv.slice(1), process.cwd());
  let open: (item: OpenedItem) => void = (item) => void waiting.push(item);
  app.on('open-file', (event, file) => {
    event.preventDefault();
    open({ file });
  });
  app.on('open-url', (event, link) => {
    event.preventDefault();
    open({ link });
  });
  app.on('second-instance', (_event, argv, folder) => {
    for (const item of itemsIn(argv.slice(1), folder)) open(item);
  });
  return {
    open: (item) => open(item),
    handOver(listener) {
      open = listener;
      for (const item of waiting.splice(0)) listener(item);
    },
  };
}

function itemsIn(argv: readonly string[], folder: string): OpenedItem[] {
  const link = argv.find((argument) => argument.startsWith(LINK_SCHEME));
  // A link comes from a stranger. Nothing else on its command line is taken from it.
  if (link !== undefined) return [{ link }];
  const page = quickPageIn(argv);
  return [
    ...(page === undefined ? [] : [{ page }]),
    ...argv
      .filter((argument) => argument.toLowerCase().endsWith(PACK_EXTENSION))
      .map((path) => ({ file: resolve(folder, path) })),
  ];
}

/** The pages in the menu of the dock and in Windows' jump list. */
export const QUICK_PAGES = [
  { to: '/timeline', label: 'Timeline' },
  { to: '/assemble', label: 'New Pack' },
  { to: '/verify', label: 'Verify a File' },
] as const satisfies readonly SidebarPage[];

const SWITCH = '--page=';

/** Returns the page that the command line of a jump list names. Anything else than a page of the list is ignored. */
function quickPageIn(argv: readonly string[]): string | undefined {
  return QUICK_PAGES.find(({ to }) => argv.includes(`${SWITCH}${to}`))?.to;
}

/** Sets the tasks of the jump list. They start the app again, which hands its command line to the one that runs. */
export function setUpJumpList(): void {
  if (process.platform !== 'win32' || !app.isPackaged) return;
  app.setUserTasks(
    QUICK_PAGES.map(({ to, label }) => ({
      program: process.execPath,
      arguments: `${SWITCH}${to}`,
      iconPath: process.execPath,
      iconIndex: 0,
      title: label,
      description: label,
    })),
  );
}

/** The scheme of the app's links, before a complete link: `strongroom:https://archive.example/sharing#key=…`. */
const LINK_SCHEME = 'strongroom:';
/** A longer link is neither an invitation nor that of a peer. */
const MAX_CHARACTERS = 2_000;
const INVITATION = /^#invitation-[0-9a-f]{1,200}$/;

/** Has the system open links with the app's scheme. Only an installed app: a checkout would register its Electron. */
export function registerLinkScheme(): void {
  // On Windows, nothing after `--` can be a switch.
  if (app.isPackaged) app.setAsDefaultProtocolClient(LINK_SCHEME.slice(0, -1), process.execPath, ['--']);
}

/** A link that the app opens. Everything else is refused. */
type OpenedLink = { peer: string } | { invitation: URL };

/**
 * Reads a link with the app's scheme. Any web page can make one.
 *
 * @returns undefined unless it is a link of a peer or an invitation, as the page Sharing makes them
 */
function readLink(address: string): OpenedLink | undefined {
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

/** Adds an opened pack file to the archive after confirmation, and shows the pack. */
export async function openPackFile(path: string, node: RunningNode, windows: DesktopWindows): Promise<void> {
  windows.show();
  await confirmAndAdd(path, node, windows).catch((error: unknown) => showFailure(path, error));
}

async function confirmAndAdd(path: string, node: RunningNode, windows: DesktopWindows): Promise<void> {
  const { response } = await dialog.showMessageBox({
    type: 'question',
    message: `Add the pack in ${basename(path)} to this archive?`,
    detail: 'All files in it are checked first. A pack cannot be removed from the archive.',
    buttons: ['Add to the archive', 'Cancel'],
    defaultId: 0,
    cancelId: 1,
  });
  if (response === 0) windows.goTo(`/packs/${await addPackFile(path, node)}`);
}

/** Uploads a pack file and returns the pack's id, also if the archive already holds the pack. */
async function addPackFile(path: string, node: RunningNode): Promise<string> {
  const token = (await readFile(node.tokenFile, 'utf8')).trim();
  const response = await fetch(new URL('/api/packs', node.url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/zip' },
    body: await openAsBlob(path),
  });
  const body = (await response.json()) as { id: string } | { detail: string };
  if ('detail' in body) throw new Error(body.detail);
  return body.id;
}

function showFailure(path: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  dialog.showErrorBox(`${basename(path)} was not added`, message);
}
