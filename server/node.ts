import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../shared/values/clock.ts';
import { WriteLimits } from './archive/limits/writeLimits.ts';
import { openCollection } from './collection/collection.ts';
import { openDerived } from './collection/derived/derived.ts';
import { Diffs } from './collection/diff/diffs.ts';
import { FileDiffs } from './collection/diff/fileDiffs.ts';
import { Summaries } from './collection/diff/summaries.ts';
import { isPrivateAddress } from './collection/fetch/addresses.ts';
import { systemLookup } from './collection/fetch/connect.ts';
import { createPost } from './collection/fetch/post.ts';
import { openNoise } from './collection/noise/noise.ts';
import { openArchiveForWriting } from './collection/record/openArchiveForWriting.ts';
import { loadTimeline } from './collection/timeline/events.ts';
import { Pages } from './collection/view/pages.ts';
import {
  DEFAULT_HOST,
  DEFAULT_PORT,
  defaultRendererFolder,
  type NodeConfig,
  READER_LIMITS,
  VERSION,
} from './config.ts';
import { Copies } from './copies/copies.ts';
import { Offloading } from './copies/offload/offloading.ts';
import { openFixity } from './fixity/fixity.ts';
import { createApp } from './http/app.ts';
import { blobFastPath } from './http/delivery/blobFastPath.ts';
import { CLOSING } from './http/delivery/eventStream.ts';
import { Exports } from './http/delivery/exports.ts';
import { pageDescriptions } from './http/delivery/itemPages.ts';
import { blobsHandlers } from './http/routes/archive/blobs.ts';
import { citationsHandlers } from './http/routes/archive/citations.ts';
import { commentsHandlers } from './http/routes/archive/comments.ts';
import { driftHandlers } from './http/routes/archive/drift.ts';
import { harvestingHandlers } from './http/routes/archive/harvesting.ts';
import { packComparisonHandlers } from './http/routes/archive/packComparison.ts';
import { packsHandlers } from './http/routes/archive/packs.ts';
import { studiesHandlers } from './http/routes/archive/studies.ts';
import { nodesHandlers } from './http/routes/archive/treeNodes.ts';
import { captureHandlers } from './http/routes/collection/captures.ts';
import { collectionHandlers } from './http/routes/collection/collection.ts';
import { derivedHandlers } from './http/routes/collection/derived.ts';
import { diffHandlers } from './http/routes/collection/diffs.ts';
import { eventHandlers } from './http/routes/collection/events.ts';
import { mementoHandlers } from './http/routes/collection/mementos.ts';
import { objectHandlers } from './http/routes/collection/objects.ts';
import { sourceHandlers } from './http/routes/collection/sources.ts';
import { viewHandlers } from './http/routes/collection/views.ts';
import { warcHandlers } from './http/routes/collection/warc.ts';
import { dumpHandlers } from './http/routes/ledger/dump.ts';
import { evidenceHandlers } from './http/routes/ledger/evidence.ts';
import { fixityHandlers } from './http/routes/ledger/fixity.ts';
import { ledgerHandlers } from './http/routes/ledger/ledger.ts';
import { tileHandlers } from './http/routes/ledger/tiles.ts';
import { timestampHandlers } from './http/routes/ledger/timestamps.ts';
import { witnessHandlers } from './http/routes/ledger/witness.ts';
import { copyHandlers } from './http/routes/node/copies.ts';
import { descriptionHandlers } from './http/routes/node/description.ts';
import { invitationsHandlers } from './http/routes/node/invitations.ts';
import { nodeHandlers } from './http/routes/node/node.ts';
import { peerHandlers } from './http/routes/node/peers.ts';
import { sessionCookie } from './http/security/access.ts';
import { createGuards } from './http/security/guards.ts';
import { normalizeRequestTarget } from './http/security/hostHeader.ts';
import { Listeners } from './http/security/listeners.ts';
import { machineNames } from './http/security/network.ts';
import { PublicAddress } from './http/security/publicAddress.ts';
import { TlsSwitch } from './http/security/tls/tlsSwitch.ts';
import { isReadOnly } from './ledger/readOnly.ts';
import { Timestamps } from './ledger/timestamps/timestamps.ts';
import { Witnesses } from './ledger/witness/witnesses.ts';
import { openInvitations } from './owner/invitations.ts';
import { openOwnerKeys } from './owner/ownerKeys.ts';
import { OwnerSessions } from './owner/sessions.ts';
import { SharingSwitch } from './owner/sharing.ts';
import { openTlsIdentity } from './owner/tls/tlsFile.ts';
import { Peers } from './peers/peers.ts';
import { Jobs } from './runtime/jobs.ts';
import { createLog } from './runtime/log.ts';
import { isMissing } from './store/blobs/fileErrors.ts';
import { writeEndpointFile } from './store/endpointFile.ts';
import { openSettings } from './store/settings.ts';

/** A running node. */
export interface RunningNode {
  url: string;
  dataFolder: string;
  tokenFile: string;
  /** The public address behind a proxy, or undefined. */
  readonly publicUrl: string | undefined;
  /** The HTTPS URL of the node on this machine and the SHA-256 of its certificate; undefined without TLS. */
  readonly tls: { url: string; fingerprint: string } | undefined;
  /** Creates a link that signs one browser in as the owner, once. Its path also works at the public address. */
  createSignInLink(): string;
  /** Stops accepting requests, finishes running work and closes the database. */
  close(): Promise<void>;
}

/**
 * Opens a data folder and serves it. This is the only place where the rooms are wired together.
 *
 * @throws what `openArchive` throws, and what `listen` throws (such as a port in use)
 */
export async function openNode(config: NodeConfig): Promise<RunningNode> {
  const clock = config.clock ?? systemClock;
  const log = config.log ?? createLog();
  const host = config.host ?? DEFAULT_HOST;
  const { idleMs } = config;
  const { store, key, checkpoints, keyChange } = await openArchiveForWriting({
    folder: config.dataFolder,
    clock,
    random: config.random,
    warn: (details, sentence) => log.warn(details, sentence),
    acceptRollback: config.acceptRollback,
  });
  if (keyChange) log.warn(keyChange, 'A rollback was accepted: the archive has a new key.');
  let close = () => store.close();
  try {
    const keys = await openOwnerKeys(store, config.tokenFile ?? join(config.dataFolder, 'owner-token'));
    const settings = openSettings(store);
    const invitations = openInvitations(store);
    const writeLimits = new WriteLimits(store, settings, log);
    const readers = { ...READER_LIMITS, ...config.readers };
    const listeners = new Listeners({ host, port: config.port ?? DEFAULT_PORT, clock, log, ...readers });
    const exports = new Exports(store, readers);
    const publicAddress = new PublicAddress(config.publicUrl, settings);
    const sharing = new SharingSwitch(settings, listeners);
    const nodeName = key.name;
    const jobs = new Jobs(clock, store.randomHex);
    const collection = openCollection({ store, settings, jobs, log, network: config.network });
    const derived = openDerived({ store, log, jobs, startChild: config.startChild, idleMs });
    const diffs = new Diffs(store, derived.deriver);
    const summaries = new Summaries({ store, diffs, log, idleMs });
    const noise = openNoise({ store, deriver: derived.deriver, diffs, jobs, log, idleMs });
    const sessions = new OwnerSessions(store, log);
    const cookieName = sessionCookie(nodeName);
    const tls = new TlsSwitch({
      settings,
      listeners,
      openIdentity: () =>
        openTlsIdentity(config.dataFolder, { name: nodeName, hosts: machineNames(), clock }),
      isForced: config.tls ?? false,
    });
    const secrets = { keys, sessions, invitations, cookieName, publicAddress, tls: () => listeners.tls };
    const guards = createGuards({ listenHost: host, settings, secrets });
    const rendererFolder = config.rendererFolder ?? defaultRendererFolder();
    const offloading = new Offloading({ store, jobs, log, settings: () => settings.current });
    const copies = new Copies({
      store,
      checkpoints,
      jobs,
      log,
      offloading,
      settings: () => settings.current,
      networkPause: config.networkPause,
    });
    settings.onChange(() => offloading.soon());
    const post = createPost(
      { clock, lookup: systemLookup, isPrivateAddress, ...config.network },
      () => settings.current,
    );
    const warn = (details: object, sentence: string) => log.warn(details, sentence);
    const timestamps = new Timestamps({ store, checkpoints, settings, post, warn });
    const witnesses = new Witnesses({ store, checkpoints, settings, post, warn });
    const peers = new Peers({
      store,
      settings: () => settings.current,
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
      repair: async (run) =>
        settings.current.repair_from_peers ? (await peers.repairDamages(run)).restored : [],
    });
    const app = createApp({
      handlers: {
        ...nodesHandlers(store),
        ...studiesHandlers(store, publicAddress),
        ...packsHandlers(store, publicAddress),
        ...packComparisonHandlers(store, new FileDiffs(store, derived.deriver)),
        ...driftHandlers(store),
        ...commentsHandlers(store),
        ...citationsHandlers(store, nodeName, publicAddress),
        ...harvestingHandlers(store, settings, nodeName, publicAddress),
        ...blobsHandlers(store),
        ...ledgerHandlers(store, checkpoints),
        ...tileHandlers(store, checkpoints),
        ...timestampHandlers(store, timestamps),
        ...evidenceHandlers({ store, checkpoints, diffOf: (id) => diffs.diffOf(id) }, rendererFolder),
        ...witnessHandlers(store, checkpoints, witnesses),
        ...dumpHandlers(store, checkpoints, exports),
        ...sourceHandlers(store, collection),
        ...captureHandlers(collection.captures),
        ...collectionHandlers(store, settings),
        ...eventHandlers(store, nodeName, { exports, publicAddress, summaries }),
        ...objectHandlers(store),
        ...mementoHandlers(store, publicAddress),
        ...warcHandlers(store, { nodeName, nodeKey: key.verifierKey, version: VERSION }, exports),
        ...derivedHandlers(store, derived.texts),
        ...diffHandlers(diffs, noise),
        ...viewHandlers(store, new Pages(store, derived.deriver)),
        ...fixityHandlers(store, fixity),
        ...copyHandlers(copies, offloading),
        ...peerHandlers(store, peers),
        ...descriptionHandlers({ version: VERSION, cookieName }, publicAddress),
        ...invitationsHandlers(invitations),
        ...nodeHandlers({
          store,
          settings,
          changeSettings: (change) => tls.changeSettings(change),
          sharing,
          addresses: () => listeners.networkAddresses,
          tls: () => listeners.tls,
          publicAddress,
          keys,
          sessions,
          jobs,
          nodeName,
          version: VERSION,
        }),
      },
      secrets,
      guards,
      writeLimits,
      interface: {
        folder: rendererFolder,
        readDocument: () => readInterfaceDocument(rendererFolder),
        readAsset: (path) => readBuiltFile(join(rendererFolder, 'assets', path)),
        describePage: pageDescriptions(store, nodeName),
      },
      log,
    });
    close = async () => {
      copies.close();
      app.emit(CLOSING);
      const served = listeners.close();
      await Promise.all([
        collection.close(),
        derived.close(),
        noise.close(),
        summaries.close(),
        fixity.close(),
        timestamps.close(),
        witnesses.close(),
        jobs.close(),
        peers.close(),
      ]);
      await served;
      offloading.close();
      await writeLimits.close();
      await writeEndpointFile(config.dataFolder, undefined);
      await store.close();
    };
    // Remove the endpoint file of a node that was killed.
    await writeEndpointFile(config.dataFolder, undefined);
    const url = await listeners.open(normalizeRequestTarget(blobFastPath({ store, guards, log }, app)));
    await writeEndpointFile(config.dataFolder, { url, token_file: keys.tokenFile });
    await tls.start();
    await sharing.resume();
    writeLimits.startDailyReset();
    if (config.copy ?? true) copies.startFollowing();
    if ((config.prove ?? true) && !isReadOnly(store.read)) {
      timestamps.startSchedule();
      witnesses.startSchedule();
    }
    if ((config.follow ?? true) && !isReadOnly(store.read)) peers.startFollowing();
    if ((config.collect ?? true) && !isReadOnly(store.read)) collection.startSchedule();
    loadTimeline(store).catch((error: unknown) =>
      log.warn({ error }, 'The timeline could not be loaded; the next request for it tries again.'),
    );
    if (config.derive ?? true) {
      derived.startFollowing();
      noise.startFollowing();
      summaries.startFollowing();
    }
    if ((config.audit ?? true) && !isReadOnly(store.read)) await fixity.startSchedule();
    return {
      url,
      dataFolder: config.dataFolder,
      tokenFile: keys.tokenFile,
      get tls() {
        return listeners.tls;
      },
      get publicUrl() {
        return publicAddress.origin;
      },
      createSignInLink: () => `${url}/sign-in/${keys.createSignInCode()}`,
      close,
    };
  } catch (error) {
    // Stop what was started, so that a node that could not be opened neither listens nor keeps its process alive.
    await close();
    throw error;
  }
}

/** Returns the document of the built interface, or undefined if there is none. It may be built while the node runs. */
function readInterfaceDocument(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, 'index.html'), 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function readBuiltFile(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
