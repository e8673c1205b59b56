import type { Settings } from '../../shared/node/settings.ts';
import type { Deriver } from '../collection/derived/process/deriver.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import type { Jobs } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import type { NetworkPause } from '../runtime/machineState.ts';
import type { Store } from '../store/store.ts';
import { Copies } from './copies.ts';
import { Offloading } from './offload/offloading.ts';
import { versionComparer } from './pages/changesSection.ts';

interface OpenCopiesConfig {
  store: Store;
  checkpoints: Checkpoints;
  settings: { readonly current: Settings };
  jobs: Jobs;
  log: Log;
}

/** Opens the copies of an archive: for a node, and for a command that opens the archive itself. */
export function openCopies(
  { store, checkpoints, settings, jobs, log }: OpenCopiesConfig,
  deriver: Deriver,
  networkPause?: () => Promise<NetworkPause>,
) {
  const current = () => settings.current;
  const offloading = new Offloading({ store, jobs, log, settings: current });
  const compare = versionComparer(store, deriver);
  const copies = new Copies({
    store,
    checkpoints,
    compare,
    jobs,
    log,
    offloading,
    settings: current,
    networkPause,
  });
  return { copies, offloading };
}
