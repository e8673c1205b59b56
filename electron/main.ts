import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { app, dialog, powerMonitor, session, shell } from 'electron';
import type { NodeConfig } from '../server/config.ts';
import { requireArchive } from '../server/moving/archivePlace.ts';
import type { RunningNode } from '../server/node.ts';
import { after, handleStrayErrors, inBackground } from '../server/runtime/background.ts';
import { type Log, logFileIn, openLogFile } from '../server/runtime/log.ts';
import { Archives, askForArchive, restart } from './archives.ts';
import { commandArguments, runCommand } from './commandLine.ts';
import { setUpLoginItem, setUpNotifications, setUpTray, wasOpenedAtLogin } from './desktopIntegration.ts';
import { closeResolver, electronBrowser } from './electronBrowser.ts';
import { setUpIpc, setUpPermissions } from './guards.ts';
import { setUpMenu } from './menu.ts';
import { errorMessage, openArchive } from './openArchive.ts';
import {
  type OpenedItems,
  openLink,
  openPackFile,
  queueOpenedItems,
  registerLinkScheme,
  setUpJumpList,
} from './opened.ts';
import { readOptions, type StartOptions } from './options.ts';
import { archiveToOpen, openPreferences, type Preferences } from './preferences.ts';
import { avoidFailedGraphics, setUpProcesses, startUtilityProcess } from './processes.ts';
import { placeToOpen } from './sample/sample.ts';
import { DesktopWindows } from './windows.ts';

/** The `appId` of electron-builder.yml. Windows shows notifications and jump lists only for the id of the shortcut. */
const APP_ID = 'example.strongroom.app';
/** After an unexpected error, the app ends after this time even if the archive could not be closed. */
const MAX_CLOSING_MS = 30_000;

function start(): void {
  // Logs, preferences and downloads are for this user only; what a data folder holds is restricted when it is opened.
  process.umask(0o077);
  const options = readOptions(process.argv.slice(1), { strict: false });
  setUpProfile(options);
  if (!app.requestSingleInstanceLock()) {
    app.quit();
    return;
  }
  app.enableSandbox();
  app.setAppUserModelId(APP_ID);
  closeResolver();
  const preferences = openPreferences(join(app.getPath('userData'), 'desktop.json'));
  avoidFailedGraphics(preferences);
  const opened = queueOpenedItems();
  // Not awaited: Electron is not ready before this module has loaded, so awaiting would deadlock.
  app
    .whenReady()
    .then(() => onReady(options, preferences, opened))
    .catch((error: unknown) => exitWithError(errorMessage(error, options.port)));
}

async function onReady(options: StartOptions, preferences: Preferences, opened: OpenedItems): Promise<void> {
  const log = openLogFile(app.getPath('logs'));
  handleStrayErrors({ log: (details, message) => log.error(details, message), end: quitAfterError });
  setUpProcesses(preferences, log);
  const chosen = await openChosen(options, preferences, {
    port: options.port,
    collect: true,
    startBrowser: electronBrowser(),
    startChild: startUtilityProcess,
    log,
    logFile: logFileIn(app.getPath('logs')),
  });
  if (!chosen) return app.exit(0);
  const { node, own } = chosen;
  let closing: Promise<void> | undefined;
  const closeNode = () => (closing ??= node.close());
  const fixed = fixedBy(options, node.dataFolder !== own);
  const archives = new Archives({ folder: own, fixed, preferences, closeNode });
  setUpQuitting(archives, closeNode);
  try {
    await showNode(node, {
      archives,
      preferences,
      log,
      hidden: options.hidden || wasOpenedAtLogin(),
      opened,
    });
  } catch (error) {
    await closeNode();
    throw error;
  }
}

interface ShownNode {
  archives: Archives;
  preferences: Preferences;
  log: Log;
  /** Whether the window is not shown at first. */
  hidden: boolean;
  opened: OpenedItems;
}

/** Opens the window of a node and sets up what belongs to it on the desktop. */
async function showNode(
  node: RunningNode,
  { archives, preferences, log, hidden, opened }: ShownNode,
): Promise<void> {
  setUpPermissions(session.defaultSession);
  const showLog = () => shell.showItemInFolder(logFileIn(app.getPath('logs')));
  setUpIpc(node, preferences, { archives, showLog });
  const windows = await DesktopWindows.open({ node, preferences, log, hidden });
  setUpReactivation(windows);
  setUpMenu({ node, windows, preferences, opened, showLog });
  setUpTray(node, windows);
  setUpJumpList();
  setUpLoginItem(preferences, log);
  registerLinkScheme();
  powerMonitor.on('suspend', () => node.suspend());
  powerMonitor.on('resume', () => node.resume());
  node.onUnseen((count) => windows.showUnseen(count));
  setUpNotifications(node, windows);
  opened.handOver((item) => {
    if ('page' in item) return windows.goTo(item.page);
    inBackground(
      () => ('file' in item ? openPackFile(item.file, node, windows) : openLink(item.link, windows)),
      (error) => log.error({ error }, 'A link or a file could not be opened.'),
    );
  });
}

interface ChosenArchive {
  node: RunningNode;
  /** The folder of the person's own archive; the node serves another one if it serves its sample. */
  own: string;
}

/**
 * Opens the archive of the command line, the one that the user chose, or the default one. If the chosen one cannot be
 * opened, as without its disk, the user decides. Returns undefined to quit.
 */
async function openChosen(
  { dataFolder, port }: StartOptions,
  preferences: Preferences,
  config: Omit<NodeConfig, 'dataFolder'> & Required<Pick<NodeConfig, 'log'>>,
): Promise<ChosenArchive | undefined> {
  if (dataFolder !== undefined) return openWithSample(dataFolder, config);
  const defaultFolder = join(app.getPath('userData'), 'archive');
  let folder: string | undefined = archiveToOpen(preferences, defaultFolder);
  if (folder === defaultFolder) return openWithSample(folder, config);
  while (folder !== undefined) {
    try {
      requireArchive(folder);
      const opened = await openWithSample(folder, config);
      if (folder !== preferences.current.archive) preferences.change({ archive: folder });
      return opened;
    } catch (error) {
      folder = await askForArchive(folder, errorMessage(error, port));
    }
  }
  return undefined;
}

/** Opens an archive, or its sample if there is one. To change between them, the app starts again. */
async function openWithSample(
  own: string,
  config: Omit<NodeConfig, 'dataFolder'> & Required<Pick<NodeConfig, 'log'>>,
): Promise<ChosenArchive> {
  const { log } = config;
  const { folder, sample } = await placeToOpen({
    own,
    log,
    onLeftOver: (error) =>
      log.warn({ error }, 'The sample archive could not be removed; the next start tries again.'),
    reopen: restart,
  });
  return { node: await openArchive({ ...config, dataFolder: folder, sample }), own };
}

/** Returns why the app opens no other archive, as a sentence. */
function fixedBy({ dataFolder }: StartOptions, isSample: boolean): string | undefined {
  if (isSample) return 'This is the sample archive. Remove it to work with your own and with others.';
  if (dataFolder === undefined) return undefined;
  return 'The command line names this folder, so the app opens no other. “strongroom move” moves it.';
}

/** Each archive has its own profile (window, session), and so one running app of its own. */
function setUpProfile({ dataFolder }: StartOptions): void {
  if (dataFolder === undefined) return;
  const name = createHash('sha256').update(dataFolder).digest('hex').slice(0, 16);
  app.setPath('userData', join(app.getPath('userData'), 'archives', name));
}

/** Starting the app again, or clicking its icon in the dock, shows the existing window. */
function setUpReactivation(windows: DesktopWindows): void {
  app.on('second-instance', () => windows.show());
  app.on('activate', () => windows.show());
}

/** The app exits after the node has finished running work and closed its database, when the window is already closed. */
function setUpQuitting(archives: Archives, closeNode: () => Promise<void>): void {
  const close = async () => {
    await archives.endMove();
    await closeNode();
  };
  let closing: Promise<void> | undefined;
  app.on('will-quit', (event) => {
    event.preventDefault();
    closing ??= close().then(
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
