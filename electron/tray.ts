import { app, Menu, Tray } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { type Status, statusSchema } from '../shared/collection/collection.ts';
import { trayIcon } from './icon.ts';
import type { DesktopWindow } from './window.ts';

/** The interval at which the state is requested. */
const REFRESH_INTERVAL_MS = 30_000;

/** Adds an icon to the system tray, with the state of the collection, “Open” and “Quit”. */
export function setUpTray(node: RunningNode, window: DesktopWindow): void {
  const tray = new Tray(trayIcon());
  const show = (state: string) => {
    tray.setToolTip(`Strongroom: ${state}`);
    tray.setContextMenu(
      Menu.buildFromTemplate([
        { id: 'state', label: state, enabled: false },
        { type: 'separator' },
        { id: 'open', label: 'Open Strongroom', click: () => window.show() },
        { id: 'quit', label: 'Quit', click: () => app.quit() },
      ]),
    );
  };
  const refresh = async () => show(await readState(node.url));
  const timer = setInterval(() => void refresh(), REFRESH_INTERVAL_MS);
  show('starting');
  void refresh();
  tray.on('click', () => window.show());
  app.on('will-quit', () => {
    clearInterval(timer);
    tray.destroy();
  });
}

async function readState(nodeUrl: string): Promise<string> {
  try {
    const response = await fetch(new URL('/api/status', nodeUrl));
    return describeStatus(statusSchema.parse(await response.json()));
  } catch {
    return 'the node does not answer';
  }
}

function describeStatus({ reason, sources, storage }: Status): string {
  if (storage !== null) return 'nothing new is stored: the disk or the archive is full';
  if (reason === 'no_sources') return 'no sources are watched yet';
  const counted = `${sources.total} ${sources.total === 1 ? 'source' : 'sources'}`;
  if (reason === 'overdue') return `${counted}, none checked within a day`;
  if (reason === 'not_yet') return `${counted}, not checked yet`;
  return sources.failing === 0 ? `${counted}, all well` : `${counted}, ${sources.failing} failing`;
}
