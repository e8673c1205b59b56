import type { Deriver } from '../collection/derived/process/deriver.ts';
import type { NodeConfig } from '../config.ts';
import { openCopies } from '../copies/openCopies.ts';
import { openFixity } from '../fixity/fixity.ts';
import { Peers } from '../peers/peers.ts';
import type { SharedServices } from './sharedServices.ts';

/** Opens the audits, and the copies and peers from which damage is repaired. */
export function openPreservation(config: NodeConfig, shared: SharedServices, deriver: Deriver) {
  const { store, key, settings, jobs, log } = shared;
  const current = () => settings.current;
  const { copies, offloading } = openCopies(shared, deriver, config.networkPause);
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
  return { offloading, copies, peers, fixity };
}
