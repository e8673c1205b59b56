import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { app, dialog, session } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { after, handleStrayErrors, inBackground } from '../server/runtime/background.ts';
import { closeResolver, electronBrowser } from './closedBrowser.ts';
import { commandArguments, runCommand } from './commandLine.ts';
import { setUpPermissions } from './guards.ts';
import { setUpIpc } from './ipc.ts';
import { openLogFile } from './logFile.ts';
import { setUpMenu, setUpTray } from './menu.ts';
import { setUpNotifications } from './notifications.ts';
import { errorMessage, openArchive } from './openArchive.ts';
import { type OpenedFiles, queueOpenedFiles, setUpPackFiles } from './openedPackFiles.ts';
import { readOptions, type StartOptions } from './options.ts';
import { openPreferences } from './preferences.ts';
import { startUtilityProcess } from './utilityChild.ts';
import { type DesktopWindow, setUpWindow } from './window.ts';

/** After an unexpected error, the app ends after this time even if the archive could not be closed. */
const MAX_CLOSING_MS = 30_000;

function start(): void {
  const options = readOptions(process.argv.slice(1), { strict: false });
  setUpProfile(options);
  if (!app.requestSingleInstanceLock()) {
    app.quit();
    return;
  }
  app.enableSandbox();
  closeResolver();
  const files = queueOpenedFiles();
  // Not awaited: Electron is not ready before this module has loaded, so awaiting would deadlock.
  app
    .whenReady()
    .then(() => onReady(options, files))
    .catch((error: unknown) => exitWithError(errorMessage(error, options.port)));
}

async function onReady(options: StartOptions, files: OpenedFiles): Promise<void> {
  const profile = app.getPath('userData');
  const preferences = openPreferences(join(profile, 'desktop.json'));
  const log = openLogFile(app.getPath('logs'));
  handleStrayErrors({ log: (details, message) => log.error(details, message), end: quitAfterError });
  const node = await openArchive({
    dataFolder: options.dataFolder ?? join(profile, 'archive'),
    port: options.port,
    collect: true,
    startBrowser: electronBrowser(),
    startChild: startUtilityProcess,
    log,
  });
  setUpQuitting(node);
  setUpPermissions(session.defaultSession);
  setUpIpc(node, preferences);
  const window = await setUpWindow(node, preferences);
  setUpReactivation(window);
  setUpMenu(node, window, preferences);
  setUpTray(node, window);
  inBackground(
    () => setUpNotifications(node, window, preferences),
    (error) => log.error({ error }, 'Alerts cannot be shown on this desktop.'),
  );
  setUpPackFiles(files, node, window);
}

/** Each archive has its own profile (window, session), and so one running app of its own. */
function setUpProfile({ dataFolder }: StartOptions): void {
  if (dataFolder === undefined) return;
  const name = createHash('sha256').update(dataFolder).digest('hex').slice(0, 16);
  app.setPath('userData', join(app.getPath('userData'), 'archives', name));
}

/** Starting the app again, or clicking its icon in the dock, shows the existing window. */
function setUpReactivation(window: DesktopWindow): void {
  app.on('second-instance', () => window.show());
  app.on('activate', () => window.show());
}

/** The app exits after the node has finished running work and closed its database, when the window is already closed. */
function setUpQuitting(node: RunningNode): void {
  let closing: Promise<void> | undefined;
  app.on('will-quit', (event) => {
    event.preventDefault();
    closing ??= node.close().then(
      () => app.exit(0),
      (error: unknown) => {
        dialog.showErrorBox('Strongroom could not close properly', errorMessage(error, undefined));
        app.exit(1);
      },
    );
  });
}

/** Electron would show a stack and go on. What is durable is intact, so the owner starts again from there. */
function quitAfterError(error: unknown): void {
  dialog.showErrorBox(
    'Strongroom must close',
    `An unexpected error occurred: ${errorMessage(error, undefined)} Nothing that was saved is lost. Start Strongroom again.`,
  );
  after(MAX_CLOSING_MS, () => app.exit(1)).unref();
  app.quit();
}

function exitWithError(message: string): void {
  dialog.showErrorBox('Strongroom cannot open', message);
  app.exit(1);
}

const args = commandArguments(process.argv);
try {
  if (args === undefined) start();
  else await runCommand(args);
} catch (error) {
  exitWithError(errorMessage(error, undefined));
}
