import type { Collection } from '../collection/collection.ts';
import type { Derived } from '../collection/derived/derived.ts';
import { isPrivateAddress, systemLookup } from '../collection/fetch/connect.ts';
import type { NodeConfig } from '../config.ts';
import { openCopies } from '../copies/copies.ts';
import { openFixity } from '../fixity/fixity.ts';
import { Observations } from '../peers/observations/observations.ts';
import { Peers } from '../peers/peers.ts';
import type { SharedServices } from './sharedServices.ts';

/** Opens the audits, the copies and peers from which damage is repaired, and what peers see for each other. */
export function openPreservation(
  config: NodeConfig,
  shared: SharedServices,
  { collection, derived }: { collection: Collection; derived: Derived },
) {
  const { store, key, checkpoints, settings, jobs, log } = shared;
  const current = () => settings.current;
  const { copies, offloading } = openCopies(shared, derived.deriver, config.networkPause);
  settings.onChange(() => offloading.soon());
  const peers = new Peers({
    store,
    settings,
    jobs,
    log,
    ownKey: key.verifierKey,
    timer: config.peerTimer,
    pollIntervalMs: config.peerPollIntervalMs,
  });
  const observations = new Observations({
    store,
    checkpoints,
    texts: derived.texts,
    network: { lookup: systemLookup, isPrivateAddress, ...config.network },
    withPeer: (id, work) => peers.withPeer(id, work),
    look: (url, signal) => collection.look(url, signal),
    log,
  });
  collection.whenNewVersion((sourceKey, event) => observations.seen(sourceKey, event));
  const fixity = openFixity({
    store,
    settings: current,
    jobs,
    log,
    repair: async (run, by) => {
      // An audit of the owner only reports; the schedule repairs what it found a few minutes later.
      const fromCopies = by === 'schedule' ? await copies.repairDamages(run) : [];
      if (!settings.current.repair_from_peers) return fromCopies;
      return [...fromCopies, ...(await peers.repairDamages(run)).restored];
    },
  });
  return { offloading, copies, peers, observations, fixity };
}
