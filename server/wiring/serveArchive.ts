import { join } from 'node:path';
import { type Clock, systemClock } from '../../shared/values/clock.ts';
import { DEFAULT_HOST, DEFAULT_PORT, type NodeConfig } from '../config.ts';
import { type AppConfig, type AskedJob, createApp } from '../http/app.ts';
import { createAwayApp } from '../http/away.ts';
import { pageDescriptions } from '../http/delivery/itemPages.ts';
import { Listeners } from '../http/security/listeners.ts';
import { normalizeRequestTarget } from '../http/security/machineAddresses.ts';
import type { RecentLog } from '../runtime/recentLog.ts';
import { writeEndpointFile } from '../store/opening/folderLock.ts';
import { readBuiltFile, readInterfaceDocument } from './builtInterface.ts';
import { closeServices } from './closeServices.ts';
import { handlersOf } from './handlers.ts';
import { openServices, type Services } from './openServices.ts';
import type { OpenedArchive } from './sharedServices.ts';
import { startServices } from './startServices.ts';

/** An open archive with its services, which a node serves. */
export interface ServedArchive {
  services: Services;
  url: string;
  /** Stops accepting requests, finishes running work and closes the database. */
  close(): Promise<void>;
  /** For a data folder that is gone: closes everything but the sockets, which go on saying so. */
  leave(): Promise<void>;
  /** The jobs that clients were told of, and that did not end or failed because the data folder is gone. */
  unfinishedJobs(): AskedJob[];
}

/**
 * Opens the services of an archive and listens. While its data folder is missing, every request gets `data_folder_away`.
 *
 * @throws what `listen` throws (such as a port in use); the archive is closed then
 */
export async function serveArchive(
  config: NodeConfig,
  archive: OpenedArchive,
  { clock, log }: { clock: Clock; log: RecentLog },
): Promise<ServedArchive> {
  const { store } = archive;
  let close = () => store.close();
  try {
    const services = await openServices(config, archive, { clock, log });
    const asked = new Map<string, AskedJob>();
    const app = createAppOf(services, (request, { id, state }) => {
      if (state === 'running') asked.set(id, request);
    });
    services.jobs.on('job', ({ id, state }) => {
      const wasBroken = state !== 'done' && store.presence.isAway;
      if (state !== 'running' && !wasBroken) asked.delete(id);
    });
    close = () => closeServices(services, app);
    // Remove the endpoint file of a node that was killed.
    await writeEndpointFile(config.dataFolder, undefined);
    const answer = normalizeRequestTarget(app);
    const answerAway = createAwayApp(log);
    const url = await services.listeners.open((request, response) =>
      (store.presence.isAway ? answerAway : answer)(request, response),
    );
    await writeEndpointFile(config.dataFolder, { url, token_file: services.keys.tokenFile });
    await startServices(config, services, url);
    return {
      services,
      url,
      close,
      leave: () => closeServices(services, app, { isAway: true }),
      unfinishedJobs: () => [...asked.values()],
    };
  } catch (error) {
    // Stop what was started, so that a node that could not be opened neither listens nor keeps its process alive.
    await close();
    throw error;
  }
}

/** Listens for a node that could not be opened again, and says that its data folder is away. */
export async function listenAway(
  { host = DEFAULT_HOST, port = DEFAULT_PORT, clock = systemClock }: NodeConfig,
  log: RecentLog,
): Promise<Listeners> {
  const listeners = new Listeners({ host, port, clock, log });
  await listeners.open(createAwayApp(log));
  return listeners;
}

/** Creates the HTTP application over the services. */
function createAppOf(services: Services, onJob: AppConfig['onJob']) {
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
    refusal: store.presence.refusal,
    onWrite: (name) => services.writes.emit('write', name),
    onJob,
  });
}
