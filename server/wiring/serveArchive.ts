import type { EventEmitter } from 'node:events';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../shared/values/clock.ts';
import { findAllSets } from '../archive/sets/readSet.ts';
import { loadTimeline } from '../collection/timeline/events.ts';
import { DEFAULT_HOST, DEFAULT_PORT, type NodeConfig } from '../config.ts';
import { ownerEncryption } from '../copies/keys/copyKeys.ts';
import { readEncrypted } from '../findings/sealed.ts';
import { type AppConfig, type AskedJob, createApp, createAwayApp } from '../http/app.ts';
import { CLOSING } from '../http/delivery/eventStream.ts';
import { pageDescriptions } from '../http/delivery/itemPages.ts';
import { normalizeRequestTarget } from '../http/security/addresses.ts';
import { Listeners } from '../http/security/listeners.ts';
import { takeTickets } from '../http/security/ticket.ts';
import { isReadOnly } from '../ledger/appendEntry.ts';
import { RepeatedWork } from '../runtime/background.ts';
import type { RecentLog } from '../runtime/log.ts';
import { writeEndpointFile } from '../store/opening/folderLock.ts';
import { hidings } from '../store/sqlite/node/withheld.ts';
import { handlersOf, readBuiltFile, readInterfaceDocument } from './handlers.ts';
import { type OpenedArchive, openServices, type Services } from './openServices.ts';

/** An open archive with its services, and what answers requests to it. */
export interface AnsweringArchive {
  services: Services;
  answer: RequestListener;
  /** Stops accepting requests, finishes running work and closes the database. */
  close(): Promise<void>;
  /** For a data folder that is gone: closes everything but the sockets, which go on saying so. */
  leave(): Promise<void>;
  /** The jobs that clients were told of, and that did not end or failed because the data folder is gone. */
  unfinishedJobs(): AskedJob[];
}

/** An archive that answers at a URL. */
export interface ServedArchive extends AnsweringArchive {
  url: string;
}

interface Surroundings {
  clock: Clock;
  log: RecentLog;
}

/** Opens the services of an archive. Nothing listens and nothing runs in the background. If it fails, the archive is closed. */
export async function openAnswering(
  config: NodeConfig,
  archive: OpenedArchive,
  surroundings: Surroundings,
): Promise<AnsweringArchive & { work: RepeatedWork }> {
  const { store } = archive;
  const { clock, log } = surroundings;
  try {
    const services = await openServices(config, archive, surroundings);
    const work = new RepeatedWork(clock);
    const asked = new Map<string, AskedJob>();
    const app = createAppOf(services, (request, { id, state }) => {
      if (state === 'running') asked.set(id, request);
    });
    services.jobs.on('job', ({ id, state }) => {
      const wasBroken = state !== 'done' && store.presence.isAway;
      if (state !== 'running' && !wasBroken) asked.delete(id);
    });
    // Remove the endpoint file of a node that was killed.
    await writeEndpointFile(config.dataFolder, undefined);
    await readEncrypted(store, ownerEncryption(store.folder).decrypt).catch((error: unknown) =>
      log.warn({ error }, 'Sealed findings could not be decrypted; the next start tries again.'),
    );
    const answer = normalizeRequestTarget(takeTickets(app));
    const answerAway = createAwayApp(log);
    return {
      services,
      work,
      answer: (request, response) => (store.presence.isAway ? answerAway : answer)(request, response),
      close: () => closeServices(services, app, work),
      leave: () => closeServices(services, app, work, { isAway: true }),
      unfinishedJobs: () => [...asked.values()],
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Opens the services of an archive and listens. While its data folder is missing, every request gets `data_folder_away`.
 *
 * @throws what `listen` throws (such as a port in use); the archive is closed then
 */
export async function serveArchive(
  config: NodeConfig,
  archive: OpenedArchive,
  surroundings: Surroundings,
): Promise<ServedArchive> {
  const opened = await openAnswering(config, archive, surroundings);
  const { services, work } = opened;
  try {
    // What is withheld together because of the list of a set is known before anybody can ask for it.
    const looked = lookForSets(services, work);
    if (hidings(services.store.read) > 0) await looked;
    const url = await services.listeners.open(opened.answer);
    await writeEndpointFile(config.dataFolder, { url, token_file: services.keys.tokenFile });
    await startServices(config, services, url);
    return { ...opened, url };
  } catch (error) {
    // Stop what was started, so that a node that could not be opened neither listens nor keeps its process alive.
    await opened.close();
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

/**
 * Looks for sets that are not known yet. A list that cannot be read keeps no node from starting: until it can, a withheld
 * file is covered by its own digest, and those of its parts are not unless they are withheld themselves.
 */
async function lookForSets({ store, log }: Services, work: RepeatedWork): Promise<void> {
  const notRead = (pack: string, error: unknown) =>
    log.warn({ error, pack }, 'The list of a set could not be read. Its parts may be listed.');
  try {
    await work.track(findAllSets(store, notRead, work.signal));
  } catch (error) {
    log.warn({ error }, 'The sets were not all looked for; the next start goes on.');
  }
}

/** Starts what runs in the background of a node that serves at this URL. */
async function startServices(config: NodeConfig, services: Services, url: string): Promise<void> {
  const { collect = true, audit = true, copy = true, derive = true, prove = true, follow = true } = config;
  const { store, log } = services;
  await services.tls.start();
  await services.alerts.start(url);
  await services.sharing.resume();
  services.writeLimits.startDailyReset();
  services.updates.start();
  await services.copies
    .forgetUnknownCredentials()
    .catch((error: unknown) =>
      log.warn({ error }, 'The file of the access keys could not be read; the next start tries again.'),
    );
  if (copy) services.copies.startFollowing();
  if (!isReadOnly(store.read)) services.deposits.resume();
  if (prove && !isReadOnly(store.read)) {
    services.timestamps.startSchedule();
    services.witnesses.startSchedule();
  }
  if (follow && !isReadOnly(store.read)) services.peers.startFollowing();
  if (collect && !isReadOnly(store.read)) services.collection.startSchedule();
  loadTimeline(store).catch((error: unknown) =>
    log.warn({ error }, 'The timeline could not be loaded; the next request for it tries again.'),
  );
  if (derive) {
    services.derived.startFollowing();
    services.noise.startFollowing();
    services.summaries.startFollowing();
    services.anchors.start();
  }
  if (audit && !isReadOnly(store.read)) await services.fixity.startSchedule();
}

/**
 * Stops accepting requests, finishes running work and closes the database, in this order.
 *
 * @param work what was begun when the archive was opened and may not have ended
 * @param options.isAway the data folder is gone: the sockets go on listening, and nothing is written to a folder that may be
 * another one by now
 * @throws the first error, once everything was closed
 */
async function closeServices(
  services: Services,
  app: EventEmitter,
  work: RepeatedWork,
  { isAway = false } = {},
): Promise<void> {
  const { store } = services;
  services.copies.close();
  services.deposits.close();
  const alertsClosed = services.alerts.close();
  app.emit(CLOSING);
  const nearbyClosed = await Promise.allSettled([services.nearby.close()]);
  const served = isAway ? undefined : services.listeners.close();
  const closed = await Promise.allSettled([
    work.close(),
    alertsClosed,
    services.collection.close(),
    services.derived.close(),
    services.anchors.close(),
    services.noise.close(),
    services.summaries.close(),
    services.fixity.close(),
    services.timestamps.close(),
    services.witnesses.close(),
    services.jobs.close(),
    services.peers.close(),
    services.observations.close(),
    services.updates.close(),
    served,
  ]);
  services.offloading.close();
  const last = await Promise.allSettled([
    services.writeLimits.close(),
    isAway ? undefined : writeEndpointFile(store.folder, undefined),
  ]);
  await store.close();
  for (const each of [...nearbyClosed, ...closed, ...last]) if (each.status === 'rejected') throw each.reason;
}
