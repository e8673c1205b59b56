import { findSets } from '../archive/sets/readSet.ts';
import { loadTimeline } from '../collection/timeline/events.ts';
import type { NodeConfig } from '../config.ts';
import { ownerEncryption } from '../copies/keys/copyKeys.ts';
import { readEncrypted } from '../findings/sealed.ts';
import { isReadOnly } from '../ledger/appendEntry.ts';
import type { Services } from './openServices.ts';

/** Starts what runs in the background of a node that serves at this URL. */
export async function startServices(config: NodeConfig, services: Services, url: string): Promise<void> {
  const { collect = true, audit = true, copy = true, derive = true, prove = true, follow = true } = config;
  const { store, log } = services;
  await services.tls.start();
  await services.alerts.start(url);
  await services.sharing.resume();
  services.writeLimits.startDailyReset();
  services.updates.start();
  if (copy) services.copies.startFollowing();
  if (!isReadOnly(store.read)) await services.deposits.resume();
  if (prove && !isReadOnly(store.read)) {
    services.timestamps.startSchedule();
    services.witnesses.startSchedule();
  }
  if (follow && !isReadOnly(store.read)) services.peers.startFollowing();
  if (collect && !isReadOnly(store.read)) services.collection.startSchedule();
  await readEncrypted(store, ownerEncryption(store.folder).decrypt).catch((error: unknown) =>
    log.warn({ error }, 'Sealed findings could not be decrypted; the next start tries again.'),
  );
  findAllSets(store, log).catch((error: unknown) =>
    log.warn({ error }, 'The sets were not all looked for; the next start goes on.'),
  );
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

async function findAllSets(store: Services['store'], log: Services['log']): Promise<void> {
  const sets = findSets(store, (pack, error) =>
    log.warn({ error, pack }, 'The list of a set could not be read. Its parts may be listed.'),
  );
  while (!(await sets.next()).done);
}
