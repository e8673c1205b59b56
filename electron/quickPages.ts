import { app } from 'electron';
import type { SidebarPage } from '../shared/node/pages.ts';

/** The pages in the menu of the dock and in Windows' jump list. */
export const QUICK_PAGES = [
  { to: '/timeline', label: 'Timeline' },
  { to: '/assemble', label: 'New Pack' },
  { to: '/verify', label: 'Verify a File' },
] as const satisfies readonly SidebarPage[];

const SWITCH = '--page=';

/** Returns the page that the command line of a jump list names. Anything else than a page of the list is ignored. */
export function quickPageIn(argv: readonly string[]): string | undefined {
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
