import type { Deriver } from '../collection/derived/process/deriver.ts';
import type { NodeConfig } from '../config.ts';
import { Copies } from '../copies/copies.ts';
import { Offloading } from '../copies/offload/offloading.ts';
import { versionComparer } from '../copies/pages/diff/compareVersions.ts';
import { openFixity } from '../fixity/fixity.ts';
import { Peers } from '../peers/peers.ts';
import type { SharedServices } from './sharedServices.ts';

/** Opens the audits, and the copies and peers from which damage is repaired. */
export function openPreservation(
  config: NodeConfig,
  { store, key, checkpoints, settings, jobs, log }: SharedServices,
  deriver: Deriver,
) {
  const current = () => settings.current;
  const offloading = new Offloading({ store, jobs, log, settings: current });
  const copies = new Copies({
    store,
    checkpoints,
    compare: versionComparer(store, deriver),
    jobs,
    log,
    offloading,
    settings: current,
    networkPause: config.networkPause,
  });
  settings.onChange(() => offloading.soon());
  const peers = new Peers({
    store,
    settings,
    jobs,
    log,
    ownKey: key.verifierKey,
    timer: config.peerTimer,
    lookEveryMs: config.peerLookEveryMs,
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
