import { resolve } from 'node:path';
import { app } from 'electron';
import type { SidebarPage } from '../../shared/node/pages.ts';
import { LINK_SCHEME } from './links.ts';

const PACK_EXTENSION = '.pack.zip';

/** What the system asks the app to open. */
export type OpenedItem = { file: string } | { link: string } | { page: string };

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
