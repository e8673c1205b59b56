import { join } from 'node:path';
import type { Alert, AlertMessage, NewAlert } from '../shared/alerts/alert.ts';
import { systemClock } from '../shared/values/clock.ts';
import { openArchiveForWriting } from './collection/record/coverRetrievals.ts';
import { followUnseen } from './collection/timeline/followUnseen.ts';
import { type NodeConfig } from './config.ts';
import { createApp } from './http/app.ts';
import { pageDescriptions } from './http/delivery/itemPages.ts';
import { normalizeRequestTarget } from './http/security/machineAddresses.ts';
import { createLog } from './runtime/log.ts';
import { RecentLog } from './runtime/recentLog.ts';
import { writeEndpointFile } from './store/endpointFile.ts';
import { readBuiltFile, readInterfaceDocument } from './wiring/builtInterface.ts';
import { closeServices } from './wiring/closeServices.ts';
import { handlersOf } from './wiring/handlers.ts';
import { openServices, type Services } from './wiring/openServices.ts';
import { startServices } from './wiring/startServices.ts';

/** A running node. */
export interface RunningNode {
  url: string;
  dataFolder: string;
  tokenFile: string;
  /** The public address behind a proxy, or undefined. */
  readonly publicUrl: string | undefined;
  /** The HTTPS URL of the node on this machine and the SHA-256 of its certificate; undefined without TLS. */
  readonly tls: { url: string; fingerprint: string } | undefined;
  /** Creates a link that signs one browser in as the owner, once. Its path also works at the public address. */
  createSignInLink(): string;
  /** Shows the alerts for this desktop from now on. Those that wait are shown first. */
  showAlerts(show: (message: AlertMessage) => void): void;
  addAlert(alert: NewAlert): Promise<Alert>;
  /** Calls the listener with the number of events that the owner has not seen: now, and when it has changed. */
  onUnseen(listener: (count: number) => void): void;
  /** Before the machine sleeps, and after: no round begins meanwhile, and what became due is spread. */
  suspend(): void;
  resume(): void;
  /** Stops accepting requests, finishes running work and closes the database. */
  close(): Promise<void>;
}

/**
 * Opens a data folder and serves it. With `wiring/`, this is the only place where the services are wired together.
 *
 * @throws what `openArchive` throws, and what `listen` throws (such as a port in use)
 */
export async function openNode(config: NodeConfig): Promise<RunningNode> {
  const clock = config.clock ?? systemClock;
  const log = new RecentLog(config.log ?? createLog(), config.logFile);
  const { store, key, checkpoints, keyChange } = await openArchiveForWriting({
    folder: config.dataFolder,
    clock,
    random: config.random,
    warn: (details, sentence) => log.warn(details, sentence),
    acceptRollback: config.acceptRollback,
  });
  if (keyChange) log.warn(keyChange, 'A rollback was accepted: the archive has a new key.');
  let close = () => store.close();
  try {
    const services = await openServices(config, { store, key, checkpoints }, { clock, log });
    const { keys, listeners, publicAddress, alerts } = services;
    const app = createAppOf(services);
    close = () => closeServices(services, app);
    // Remove the endpoint file of a node that was killed.
    await writeEndpointFile(config.dataFolder, undefined);
    const url = await listeners.open(normalizeRequestTarget(app));
    await writeEndpointFile(config.dataFolder, { url, token_file: keys.tokenFile });
    await startServices(config, services, url);
    const closeApp = close;
    let stopCounting = () => {};
    close = () => {
      stopCounting();
      return closeApp();
    };
    return {
      url,
      dataFolder: config.dataFolder,
      tokenFile: keys.tokenFile,
      get tls() {
        return listeners.tls;
      },
      get publicUrl() {
        return publicAddress.origin;
      },
      showAlerts: (show) => alerts.showOnDesktop(show),
      addAlert: (alert) => alerts.add(alert),
      suspend: () => services.collection.suspend(),
      resume: () => services.collection.resume(),
      onUnseen: (listener) => {
        stopCounting();
        stopCounting = followUnseen({ store, log }, listener);
      },
      createSignInLink: () => `${url}/sign-in/${keys.createSignInCode()}`,
      close,
    };
  } catch (error) {
    // Stop what was started, so that a node that could not be opened neither listens nor keeps its process alive.
    await close();
    throw error;
  }
}

/** Creates the HTTP application over the services. */
function createAppOf(services: Services) {
  const { store, log, nodeName, secrets, guards, writeLimits, rendererFolder } = services;
  return createApp({
    handlers: handlersOf(services),
    secrets,
    guards,
    writeLimits,
    interface: {
      folder: rendererFolder,
      readDocument: () => readInterfaceDocument(rendererFolder),
      readAsset: (path) => readBuiltFile(join(rendererFolder, 'assets', path)),
      describePage: pageDescriptions(store, nodeName),
    },
    log,
    onWrite: (name) => services.writes.emit('write', name),
  });
}
