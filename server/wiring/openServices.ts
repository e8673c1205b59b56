import { join } from 'node:path';
import type { Clock } from '../../shared/values/clock.ts';
import { Alerts } from '../alerts/alerts.ts';
import { WriteLimits } from '../archive/limits/writeLimits.ts';
import { openCollection } from '../collection/collection.ts';
import { openDerived } from '../collection/derived/derived.ts';
import { Diffs } from '../collection/diff/diffs.ts';
import { Summaries } from '../collection/diff/summaries.ts';
import { isPrivateAddress } from '../collection/fetch/addresses.ts';
import { systemLookup } from '../collection/fetch/connect.ts';
import { createPost } from '../collection/fetch/post.ts';
import { openNoise } from '../collection/noise/noise.ts';
import { openArchiveForWriting } from '../collection/record/openArchiveForWriting.ts';
import {
  DEFAULT_HOST,
  DEFAULT_PORT,
  defaultRendererFolder,
  type NodeConfig,
  READER_LIMITS,
} from '../config.ts';
import { Copies } from '../copies/copies.ts';
import { Offloading } from '../copies/offload/offloading.ts';
import { versionComparer } from '../copies/pages/diff/compareVersions.ts';
import { openFixity } from '../fixity/fixity.ts';
import { Exports } from '../http/delivery/exports.ts';
import { sessionCookie } from '../http/security/access.ts';
import { createGuards } from '../http/security/guards.ts';
import { Listeners } from '../http/security/listeners.ts';
import { machineNames } from '../http/security/machineAddresses.ts';
import { PublicAddress } from '../http/security/publicAddress.ts';
import { TlsSwitch } from '../http/security/tls/tlsSwitch.ts';
import { Timestamps } from '../ledger/timestamps/timestamps.ts';
import { Witnesses } from '../ledger/witness/witnesses.ts';
import { openInvitations } from '../owner/invitations.ts';
import { openOwnerKeys } from '../owner/ownerKeys.ts';
import { OwnerSessions } from '../owner/sessions.ts';
import { SharingSwitch } from '../owner/sharing.ts';
import { openTlsIdentity } from '../owner/tls/tlsFile.ts';
import { Peers } from '../peers/peers.ts';
import { Jobs } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import { openSettings } from '../store/settings.ts';
import { pinnedCertificate } from '../store/sqlite/node/peers.ts';
import { announcedAccess, openNearby } from './discovery.ts';

/** What opening the archive gave. */
export type OpenedArchive = Pick<
  Awaited<ReturnType<typeof openArchiveForWriting>>,
  'store' | 'key' | 'checkpoints'
>;

/** The services of a node. */
export type Services = Awaited<ReturnType<typeof openServices>>;

/** Opens the services of a node, each with those that it uses. Nothing runs in the background yet. */
export async function openServices(
  config: NodeConfig,
  { store, key, checkpoints }: OpenedArchive,
  { clock, log }: { clock: Clock; log: Log },
) {
  const host = config.host ?? DEFAULT_HOST;
  const { idleMs } = config;
  const keys = await openOwnerKeys(store, config.tokenFile ?? join(config.dataFolder, 'owner-token'));
  const settings = openSettings(store);
  const invitations = openInvitations(store);
  const writeLimits = new WriteLimits(store, settings, log);
  const readers = { ...READER_LIMITS, ...config.readers };
  const listeners = new Listeners({ host, port: config.port ?? DEFAULT_PORT, clock, log, ...readers });
  const exports = new Exports(store, readers);
  const publicAddress = new PublicAddress(config.publicUrl, settings);
  const nearby = openNearby({ store, log, ownKey: key.verifierKey, listeners, discovery: config.discovery });
  const sharing = new SharingSwitch(settings, announcedAccess(listeners, nearby));
  const nodeName = key.name;
  const jobs = new Jobs(clock, store.randomHex);
  const derived = openDerived({ store, log, jobs, startChild: config.startChild, idleMs });
  const { deriver } = derived;
  const collection = openCollection({ store, settings, jobs, log, deriver, network: config.network });
  const diffs = new Diffs(store, derived.deriver);
  const summaries = new Summaries({ store, diffs, log, idleMs });
  const noise = openNoise({ store, deriver: derived.deriver, diffs, jobs, log, idleMs });
  const sessions = new OwnerSessions(store, log);
  const cookieName = sessionCookie(nodeName);
  const tls = new TlsSwitch({
    settings,
    listeners,
    openIdentity: () => openTlsIdentity(config.dataFolder, { name: nodeName, hosts: machineNames(), clock }),
    isForced: config.tls ?? false,
  });
  const secrets = { keys, sessions, invitations, cookieName, publicAddress, tls: () => listeners.tls };
  const guards = createGuards({ listenHost: host, settings, secrets });
  const rendererFolder = config.rendererFolder ?? defaultRendererFolder();
  const offloading = new Offloading({ store, jobs, log, settings: () => settings.current });
  const copies = new Copies({
    store,
    checkpoints,
    compare: versionComparer(store, derived.deriver),
    jobs,
    log,
    offloading,
    settings: () => settings.current,
    networkPause: config.networkPause,
  });
  settings.onChange(() => offloading.soon());
  const post = createPost(
    {
      clock,
      lookup: systemLookup,
      isPrivateAddress,
      certificateOf: (url) => pinnedCertificate(store.read, url),
      ...config.network,
    },
    () => settings.current,
  );
  const warn = (details: object, sentence: string) => log.warn(details, sentence);
  const timestamps = new Timestamps({ store, checkpoints, settings, post, warn });
  const witnesses = new Witnesses({ store, checkpoints, settings, post, warn });
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
    settings: () => settings.current,
    jobs,
    log,
    repair: async (run, by) => {
      // An audit of the owner only reports; the schedule repairs what it found a few minutes later.
      const fromCopies = by === 'schedule' ? await copies.repairDamages(run) : [];
      if (!settings.current.repair_from_peers) return fromCopies;
      return [...fromCopies, ...(await peers.repairDamages(run)).restored];
    },
  });
  const alerts = new Alerts({
    store,
    settings,
    diffs,
    texts: derived.texts,
    post,
    log,
    network: { lookup: systemLookup, isPrivateAddress, ...config.network },
    publicOrigin: () => publicAddress.origin,
    idleMs,
  });
  return {
    store,
    key,
    checkpoints,
    clock,
    log,
    keys,
    settings,
    invitations,
    writeLimits,
    listeners,
    exports,
    publicAddress,
    sharing,
    jobs,
    collection,
    derived,
    diffs,
    summaries,
    noise,
    sessions,
    cookieName,
    tls,
    secrets,
    guards,
    rendererFolder,
    offloading,
    copies,
    timestamps,
    witnesses,
    peers,
    nearby,
    alerts,
    fixity,
    nodeName,
  };
}
