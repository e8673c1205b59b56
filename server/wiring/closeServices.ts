import type { EventEmitter } from 'node:events';
import { CLOSING } from '../http/delivery/eventStream.ts';
import { writeEndpointFile } from '../store/opening/folderLock.ts';
import type { Services } from './openServices.ts';

/**
 * Stops accepting requests, finishes running work and closes the database, in this order.
 *
 * @param options.isAway the data folder is gone: the sockets go on listening, and nothing is written to a folder that may be
 * another one by now
 * @throws the first error, once everything was closed
 */
export async function closeServices(
  services: Services,
  app: EventEmitter,
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
