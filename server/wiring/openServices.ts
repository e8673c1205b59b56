import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import type { RouteName } from '../../shared/routes.ts';
import type { Clock } from '../../shared/values/clock.ts';
import { VERSION } from '../../shared/version.ts';
import { Alerts } from '../alerts/alerts.ts';
import { WriteLimits } from '../archive/limits/writeLimits.ts';
import { type Collection, openCollection } from '../collection/collection.ts';
import { type Derived, openDerived } from '../collection/derived/derived.ts';
import type { Passages } from '../collection/derived/passages/passages.ts';
import { CURRENT_TEXT_TOOLS } from '../collection/derived/process/tasks.ts';
import { Diffs } from '../collection/diff/diffs.ts';
import { Summaries } from '../collection/diff/summaries.ts';
import { isPrivateAddress, systemLookup } from '../collection/fetch/connect.ts';
import { createPost } from '../collection/fetch/post.ts';
import { type Noise, openNoise } from '../collection/noise/noise.ts';
import type { openArchiveForWriting } from '../collection/record/coverRetrievals.ts';
import {
  DEFAULT_HOST,
  DEFAULT_PORT,
  defaultRendererFolder,
  type NodeConfig,
  READER_LIMITS,
} from '../config.ts';
import { openCopies } from '../copies/copies.ts';
import { PassageAnchors } from '../findings/passageAnchors.ts';
import { openFixity } from '../fixity/fixity.ts';
import { Exports } from '../http/delivery/exports.ts';
import { cookiePrefix } from '../http/security/access.ts';
import { machineAddresses, machineNames, PublicAddress } from '../http/security/addresses.ts';
import { createGuards } from '../http/security/guards.ts';
import { Listeners } from '../http/security/listeners.ts';
import { TlsSwitch } from '../http/security/tlsSwitch.ts';
import { Timestamps } from '../ledger/timestamps/timestamps.ts';
import { Witnesses } from '../ledger/witness/witnessing.ts';
import { openTlsIdentity } from '../owner/certificate.ts';
import { Pairings } from '../owner/pairing.ts';
import { type OwnerKeys, OwnerSessions, openOwnerKeys } from '../owner/sessions.ts';
import { type NetworkAccess, openInvitations, SharingSwitch } from '../owner/sharing.ts';
import { Nearby, type NearbyConfig } from '../peers/nearby/nearby.ts';
import { Observations } from '../peers/observations/observations.ts';
import { Peers } from '../peers/peers.ts';
import { Deposits } from '../repositories/deposit/deposits.ts';
import { Jobs } from '../runtime/jobs.ts';
import type { Log, RecentLog } from '../runtime/log.ts';
import { openSettings, type SettingsStore } from '../store/settings.ts';
import { pinnedCertificate } from '../store/sqlite/node/peers.ts';
import { UpdateCheck } from '../updates/updates.ts';

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

/** What opening the archive gave. */
export type OpenedArchive = Pick<
  Awaited<ReturnType<typeof openArchiveForWriting>>,
  'store' | 'key' | 'checkpoints'
>;

/** What most services use. */
interface SharedServices extends OpenedArchive {
  clock: Clock;
  log: Log;
  settings: SettingsStore;
  jobs: Jobs;
  nodeName: string;
}

/** Opens what decides who reaches the node, where, and how much they may use. Nothing listens yet. */
function openAccess(
  config: NodeConfig,
  { store, key, clock, log, settings, nodeName }: SharedServices,
  keys: OwnerKeys,
) {
  const host = config.host ?? DEFAULT_HOST;
  const readers = { ...READER_LIMITS, ...config.readers };
  const listeners = new Listeners({ host, port: config.port ?? DEFAULT_PORT, clock, log, ...readers });
  const publicAddress = new PublicAddress(config.publicUrl, settings);
  const nearby = openNearby({ store, log, ownKey: key.verifierKey, listeners, discovery: config.discovery });
  const tls = new TlsSwitch({
    settings,
    listeners,
    openIdentity: () => openTlsIdentity(config.dataFolder, { name: nodeName, hosts: machineNames(), clock }),
    isForced: config.tls ?? false,
  });
  const invitations = openInvitations(store);
  const sessions = new OwnerSessions(store, log);
  const pairings = new Pairings(store, log);
  const cookieName = cookiePrefix(nodeName);
  const access = { keys, sessions, invitations, pairings, cookieName, publicAddress };
  const secrets = { ...access, tls: () => listeners.tls };
  return {
    ...access,
    secrets,
    tls,
    guards: createGuards({ listenHost: host, settings, secrets }),
    listeners,
    nearby,
    sharing: new SharingSwitch(settings, announcedAccess(listeners, nearby)),
    writeLimits: new WriteLimits(store, settings, log),
    exports: new Exports(store, readers),
  };
}

/** The port of multicast DNS (RFC 6762). */
const MULTICAST_DNS_PORT = 5353;

/** Returns the service that finds other nodes on the network, and announces this one at the addresses that are open. */
function openNearby({
  listeners,
  discovery = {},
  ...config
}: Pick<NearbyConfig, 'store' | 'log' | 'ownKey'> & {
  listeners: Listeners;
  discovery: NodeConfig['discovery'];
}): Nearby {
  const { port = MULTICAST_DNS_PORT, addresses } = discovery;
  return new Nearby({
    ...config,
    port,
    machineAddresses: () => addresses ?? ofVersion4(machineAddresses()),
    reachedAt: () => {
      const { tls } = listeners;
      const scheme = tls ? 'https:' : 'http:';
      const open = listeners.networkAddresses.filter(({ url }) => url.startsWith(scheme));
      const [first] = open;
      if (!first) return undefined;
      return {
        port: Number(new URL(first.url).port),
        tlsFingerprint: tls?.fingerprint,
        addresses: addresses ?? ofVersion4(open),
      };
    },
  });
}

/** Multicast DNS over IPv4 reaches every network on which nodes are found. */
function ofVersion4(addresses: readonly { address: string }[]): string[] {
  return addresses.map(({ address }) => address).filter((address) => !address.includes(':'));
}

/** Announces the node after it was opened to the network, and withdraws that before it is closed. */
function announcedAccess(listeners: NetworkAccess, nearby: Nearby): NetworkAccess {
  return {
    share: async () => {
      await listeners.share();
      nearby.announce();
    },
    resume: async () => {
      await listeners.resume();
      nearby.announce();
    },
    unshare: async () => {
      // The network is closed even if this cannot be announced.
      try {
        await nearby.withdraw();
      } finally {
        await listeners.unshare();
      }
    },
  };
}

/** Opens the collector, and what derives texts, diffs and noise marks from what it collected. */
function openCollecting(
  { startChild, startBrowser, idleMs, quickMs, network, networkPause, batteryLow }: NodeConfig,
  { store, settings, jobs, log }: SharedServices,
) {
  const derived = openDerived({ store, log, startChild, idleMs, quickMs });
  const { deriver } = derived;
  const diffs = new Diffs(store, deriver);
  return {
    derived,
    collection: openCollection({
      store,
      settings,
      jobs,
      log,
      deriver,
      network,
      startBrowser,
      networkPause,
      batteryLow,
    }),
    diffs,
    summaries: new Summaries({ store, diffs, log, idleMs }),
    anchors: new PassageAnchors({
      store,
      log,
      tools: CURRENT_TEXT_TOOLS,
      passages: derived.passages,
    }),
    noise: openNoise({ store, deriver, diffs, jobs, log, idleMs }),
  };
}

/** Opens the audits, the copies and peers from which damage is repaired, and what peers see for each other. */
function openPreservation(
  config: NodeConfig,
  shared: SharedServices,
  { collection, derived }: { collection: Collection; derived: Derived },
) {
  const { store, key, checkpoints, settings, jobs, log } = shared;
  const current = () => settings.current;
  const { copies, offloading } = openCopies(shared, derived.deriver, {
    networkPause: config.networkPause,
    around: config.aroundCopies,
  });
  settings.onChange(() => offloading.soon());
  const peers = new Peers({
    store,
    settings,
    jobs,
    log,
    ownKey: key.verifierKey,
    timer: config.peerTimer,
    pollIntervalMs: config.peerPollIntervalMs,
    limits: config.mirrorLimits,
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

/** Opens what sends requests of the node's own: timestamps, witnesses, deposits, alerts and the check for updates. */
function openOutgoing(
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
      recheck: (source, options) => collection.recheck(source, options),
      post,
      log,
      network,
      publicOrigin: () => publicAddress.origin,
      idleMs: config.idleMs,
    }),
  };
}
