import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { app, dialog, session } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { commandArguments, runCommand } from './commandLine.ts';
import { setUpPermissions } from './guards.ts';
import { setUpIpc } from './ipc.ts';
import { openLogFile } from './logFile.ts';
import { setUpMenu } from './menu.ts';
import { setUpNotifications } from './notifications.ts';
import { openArchive, sentenceOf } from './openArchive.ts';
import { readOptions, type StartOptions } from './options.ts';
import { type OpenedFiles, queueOpenedFiles, setUpPackFiles } from './packFiles.ts';
import { openPreferences } from './preferences.ts';
import { setUpTray } from './tray.ts';
import { startUtilityProcess } from './utilityChild.ts';
import { type DesktopWindow, setUpWindow } from './window.ts';

function start(): void {
  const options = readOptions(process.argv.slice(1), { strict: false });
  setUpProfile(options);
  if (!app.requestSingleInstanceLock()) {
    app.quit();
    return;
  }
  app.enableSandbox();
  const files = queueOpenedFiles();
  // Not awaited: an ES module that awaits this at its top never ends loading, and Electron hangs.
  app
    .whenReady()
    .then(() => onReady(options, files))
    .catch((error: unknown) => giveUp(sentenceOf(error, options.port)));
}

async function onReady(options: StartOptions, files: OpenedFiles): Promise<void> {
  const profile = app.getPath('userData');
  const preferences = openPreferences(join(profile, 'desktop.json'));
  const node = await openArchive({
    dataFolder: options.dataFolder ?? join(profile, 'archive'),
    port: options.port,
    collect: true,
    startChild: startUtilityProcess,
    log: openLogFile(app.getPath('logs')),
  });
  setUpQuitting(node);
  setUpPermissions(session.defaultSession);
  setUpIpc(node, preferences);
  const window = await setUpWindow(node, preferences);
  setUpComingBack(window);
  setUpMenu(node, window, preferences);
  setUpTray(node, window);
  setUpNotifications(node, window, preferences);
  setUpPackFiles(files, node, window);
}

/** Another archive gets a profile of its own: its window, its session, and its own single instance. */
function setUpProfile({ dataFolder }: StartOptions): void {
  if (dataFolder === undefined) return;
  const name = createHash('sha256').update(dataFolder).digest('hex').slice(0, 16);
  app.setPath('userData', join(app.getPath('userData'), 'archives', name));
}

/** Starting the app again, or clicking it in the dock, shows the window that is there. */
function setUpComingBack(window: DesktopWindow): void {
  app.on('second-instance', () => window.show());
  app.on('activate', () => window.show());
}

/** The app ends when the node has finished what runs and closed its database, which is after the window has gone. */
function setUpQuitting(node: RunningNode): void {
  let closing: Promise<void> | undefined;
  app.on('will-quit', (event) => {
    event.preventDefault();
    closing ??= node.close().then(
      () => app.exit(0),
      (error: unknown) => {
        dialog.showErrorBox('Strongroom did not close in order', sentenceOf(error, undefined));
        app.exit(1);
      },
    );
  });
}

function giveUp(sentence: string): void {
  dialog.showErrorBox('Strongroom cannot open', sentence);
  app.exit(1);
}

const words = commandArguments(process.argv);
try {
  if (words === undefined) start();
  else await runCommand(words);
} catch (error) {
  giveUp(sentenceOf(error, undefined));
}
