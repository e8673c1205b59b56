import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import type { RouteName } from '../../shared/routes.ts';
import type { Clock } from '../../shared/values/clock.ts';
import { defaultRendererFolder, type NodeConfig } from '../config.ts';
import { openOwnerKeys } from '../owner/ownerKeys.ts';
import { Jobs } from '../runtime/jobs.ts';
import type { RecentLog } from '../runtime/recentLog.ts';
import { openSettings } from '../store/settings.ts';
import { openAccess } from './openAccess.ts';
import { openCollecting } from './openCollecting.ts';
import { openOutgoing } from './openOutgoing.ts';
import { openPreservation } from './openPreservation.ts';
import type { OpenedArchive, SharedServices } from './sharedServices.ts';

/** The services of a node. */
export type Services = Awaited<ReturnType<typeof openServices>>;

/** Opens the services of a node, each with those that it uses. Nothing runs in the background yet. */
export async function openServices(
  config: NodeConfig,
  { store, key, checkpoints }: OpenedArchive,
  { clock, log }: { clock: Clock; log: RecentLog },
) {
  const tokenFile = config.tokenFile ?? join(config.dataFolder, 'owner-token');
  const keys = await openOwnerKeys(store, tokenFile, config.signInCode);
  const settings = openSettings(store);
  const jobs = new Jobs(clock, store.randomHex);
  const shared: SharedServices = {
    store,
    key,
    checkpoints,
    clock,
    log,
    settings,
    jobs,
    nodeName: key.name,
  };
  const access = openAccess(config, shared, keys);
  const collecting = openCollecting(config, shared);
  const { derived, diffs, noise, collection } = collecting;
  const { publicAddress } = access;
  return {
    ...shared,
    recentLog: log,
    /** What clients changed, by the name of the route. */
    writes: new EventEmitter<{ write: [RouteName] }>().setMaxListeners(0),
    ...access,
    ...collecting,
    ...openPreservation(config, shared, collecting),
    ...openOutgoing(config, shared, { diffs, noise, collection, passages: derived.passages, publicAddress }),
    packBytes: config.packBytes,
    sample: config.sample,
    rendererFolder: config.rendererFolder ?? defaultRendererFolder(),
  };
}
