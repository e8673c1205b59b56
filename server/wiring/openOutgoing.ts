import { VERSION } from '../../shared/version.ts';
import { Alerts } from '../alerts/alerts.ts';
import type { Collection } from '../collection/collection.ts';
import type { Passages } from '../collection/derived/passages/passages.ts';
import type { Diffs } from '../collection/diff/diffs.ts';
import { isPrivateAddress, systemLookup } from '../collection/fetch/connect.ts';
import { createPost } from '../collection/fetch/post.ts';
import type { Noise } from '../collection/noise/noise.ts';
import type { NodeConfig } from '../config.ts';
import type { PublicAddress } from '../http/security/publicAddress.ts';
import { Timestamps } from '../ledger/timestamps/timestamps.ts';
import { Witnesses } from '../ledger/witness/witnessing.ts';
import { Deposits } from '../repositories/deposit/deposits.ts';
import { pinnedCertificate } from '../store/sqlite/node/peers.ts';
import { UpdateCheck } from '../updates/updates.ts';
import type { SharedServices } from './sharedServices.ts';

/** Opens what sends requests of the node's own: timestamps, witnesses, deposits, alerts and the check for updates. */
export function openOutgoing(
  config: NodeConfig,
  { store, checkpoints, clock, log, settings, jobs, nodeName }: SharedServices,
  {
    diffs,
    noise,
    collection,
    passages,
    publicAddress,
  }: {
    diffs: Diffs;
    noise: Noise;
    collection: Collection;
    passages: Passages;
    publicAddress: PublicAddress;
  },
) {
  const network = { lookup: systemLookup, isPrivateAddress, ...config.network };
  const post = createPost(
    { clock, certificateOf: (url) => pinnedCertificate(store.read, url), ...network },
    () => settings.current,
  );
  const warn = (details: object, sentence: string) => log.warn(details, sentence);
  return {
    updates: new UpdateCheck({ store, settings, post, log, version: VERSION }),
    timestamps: new Timestamps({ store, checkpoints, settings, post, warn }),
    witnesses: new Witnesses({ store, checkpoints, settings, post, warn }),
    deposits: new Deposits({
      store,
      jobs,
      clock,
      log,
      settings: () => settings.current,
      nodeName,
      publicOrigin: () => publicAddress.origin,
      ...network,
    }),
    alerts: new Alerts({
      store,
      settings,
      diffs,
      passages,
      noise,
      recheck: (source) => collection.recheck(source),
      post,
      log,
      network,
      publicOrigin: () => publicAddress.origin,
      idleMs: config.idleMs,
    }),
  };
}
