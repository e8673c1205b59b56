import type { EventEmitter } from 'node:events';
import { CLOSING } from '../http/delivery/eventStream.ts';
import { writeEndpointFile } from '../store/endpointFile.ts';
import type { Services } from './openServices.ts';

/** Stops accepting requests, finishes running work and closes the database, in this order. */
export async function closeServices(services: Services, app: EventEmitter): Promise<void> {
  const { store } = services;
  services.copies.close();
  services.deposits.close();
  const alertsClosed = services.alerts.close();
  app.emit(CLOSING);
  await services.nearby.close();
  const served = services.listeners.close();
  await Promise.all([
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
  ]);
  await served;
  services.offloading.close();
  await services.writeLimits.close();
  await writeEndpointFile(store.folder, undefined);
  await store.close();
}
