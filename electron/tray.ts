import { app, Menu, Tray } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { every, inBackground } from '../server/runtime/background.ts';
import { type Status, statusSchema } from '../shared/collection/collection.ts';
import type { ProblemDocument } from '../shared/problems.ts';
import { trayIcon } from './icons.ts';
import type { DesktopWindows } from './windows.ts';

/** The interval at which the state is requested. */
const REFRESH_INTERVAL_MS = 30_000;

/** Adds an icon to the system tray, with the state of the collection, “Open” and “Quit”. */
export function setUpTray(node: RunningNode, windows: DesktopWindows): void {
  const tray = new Tray(trayIcon());
  const show = (state: string) => {
    tray.setToolTip(`Strongroom: ${state}`);
    tray.setContextMenu(
      Menu.buildFromTemplate([
        { id: 'state', label: state, enabled: false },
        { type: 'separator' },
        { id: 'open', label: 'Open Strongroom', click: () => windows.show() },
        { id: 'quit', label: 'Quit', click: () => app.quit() },
      ]),
    );
  };
  const refresh = async () => show(await readState(node.url));
  const timer = every(REFRESH_INTERVAL_MS, refresh);
  node.onAway(() => inBackground(refresh));
  show('starting');
  inBackground(refresh);
  tray.on('click', () => windows.show());
  app.on('will-quit', () => {
    clearInterval(timer);
    tray.destroy();
  });
}

async function readState(nodeUrl: string): Promise<string> {
  try {
    const response = await fetch(new URL('/api/status', nodeUrl));
    const answer: unknown = await response.json();
    const isAway = (Object(answer) as Partial<ProblemDocument>).code === 'data_folder_away';
    return isAway ? 'the disk of the archive cannot be reached' : describeStatus(statusSchema.parse(answer));
  } catch {
    return 'the node does not answer';
  }
}

function describeStatus({ reason, sources, storage }: Status): string {
  if (storage !== null) return 'the disk or the archive is full, so nothing new is stored';
  if (reason === 'no_sources') return 'no sources are watched yet';
  const counted = `${sources.total} ${sources.total === 1 ? 'source' : 'sources'}`;
  if (reason === 'overdue') return `${counted}, none checked within a day`;
  if (reason === 'not_yet') return `${counted}, not checked yet`;
  return sources.failing === 0 ? `${counted}, all well` : `${counted}, ${sources.failing} failing`;
}
