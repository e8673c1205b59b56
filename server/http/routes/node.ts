import type { EventEmitter } from 'node:events';
import type { RoundPause } from '../../../shared/collection/collection.ts';
import type { RequestedSettings, Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Addresses } from '../../../shared/routes/node/manage.ts';
import type { RouteName } from '../../../shared/routes.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { VERSION } from '../../../shared/version.ts';
import type { Alerts } from '../../alerts/alerts.ts';
import { escapeHtml } from '../../html.ts';
import { readHead } from '../../ledger/appendEntry.ts';
import { readDataFolder, removeOldFolder } from '../../moving/archivePlace.ts';
import { problemReport } from '../../owner/problemReport.ts';
import type { SharingSwitch } from '../../owner/sharing.ts';
import type { Nearby } from '../../peers/nearby/nearby.ts';
import type { Observations } from '../../peers/observations/observations.ts';
import { readProvenance } from '../../peers/peerRecords.ts';
import type { Peers } from '../../peers/peers.ts';
import type { Jobs } from '../../runtime/jobs.ts';
import type { RecentLog } from '../../runtime/log.ts';
import { runInThread } from '../../runtime/threads.ts';
import type { SettingsStore } from '../../store/settings.ts';
import { measureStorage, type Store } from '../../store/store.ts';
import type { UpdateCheck } from '../../updates/updates.ts';
import { runLedgerVerification } from '../../verification/ledger/ledgerVerification.ts';
import type { Handlers } from '../app.ts';
import { openEventStream } from '../delivery/eventStream.ts';
import type { DescribedNode } from '../openapi/document.ts';
import {
  accepted,
  created,
  jobReply,
  noContent,
  noContentAfter,
  ok,
  okText,
  page,
  pageOfAll,
} from '../reply.ts';
import type { PublicAddress } from '../security/addresses.ts';

interface NodeServices {
  store: Store;
  log: RecentLog;
  updates: Pick<UpdateCheck, 'read'>;
  /** Why rounds do not start by themselves. */
  roundPause: () => RoundPause;
  settings: Pick<SettingsStore, 'current'>;
  /** Changes settings, applies those that concern the listening sockets, and keeps the password of the mail server. */
  changeSettings: (change: RequestedSettings) => Promise<Settings>;
  sharing: SharingSwitch;
  /** Returns the addresses at which the network can reach the node now. */
  addresses: () => Addresses['addresses'];
  /** Returns the certificate of the node; undefined without TLS. */
  tls: () => { fingerprint: string } | undefined;
  publicAddress: PublicAddress;
}

/** Handlers for the node itself: settings, storage, sharing and its addresses. */
export function nodeHandlers(services: NodeServices) {
  const {
    store,
    log,
    updates,
    roundPause,
    settings,
    changeSettings,
    sharing,
    addresses,
    tls,
    publicAddress,
  } = services;
  const readClock = () => ({
    now: instantOf(store.clock.now()),
    ahead_seconds: Math.floor(store.ahead.ms / 1_000),
  });
  return {
    readClock: () => ok(readClock()),
    confirmClock: () => {
      store.ahead.confirm();
      return ok(readClock());
    },
    readHealth: () => ok({ status: 'up' }),
    readSettings: () => ok(settings.current),
    changeSettings: async ({ body }) => ok(await changeSettings(body)),
    readStorage: async () => ok(measureStorage(store, settings.current)),
    readUpdates: async () => ok(await updates.read()),
    readRoundPause: () => ok({ paused: roundPause() }),
    readReport: async () => {
      const text = problemReport({
        version: VERSION,
        settings: settings.current,
        entries: readHead(store.read).seq,
        storedBytes: store.heldBytes(),
        dataFolder: store.folder,
        log: await log.lines(),
      });
      return {
        write: (response) =>
          void response
            .set({ 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
            .send(text),
      };
    },
    readDataFolder: () => ok(readDataFolder(store.folder)),
    removeOldFolder: () => noContentAfter(removeOldFolder(store.folder)),
    readSharing: () => ok(sharing.current),
    setSharing: async ({ body }) => ok(await sharing.set(body)),
    readAddresses: () => {
      const { origin, name = '' } = publicAddress;
      const isPublic = origin !== undefined && sharing.current.mode !== 'off';
      const publicAddresses = isPublic ? [{ url: origin, address: name, interface: 'public address' }] : [];
      const fingerprint = tls()?.fingerprint;
      return ok({
        addresses: [...publicAddresses, ...addresses()],
        ...(fingerprint && { tls_fingerprint: fingerprint }),
      });
    },
  } satisfies Partial<Handlers>;
}

/** The page has one inline style, no scripts and no external resources, and must not be framed. */
const DOCS_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** A placeholder for the node's URL in the cached page. */
const ORIGIN = 'http://this-node.invalid';

/** Handlers for the documentation of the API, which is generated at the first request. */
export function descriptionHandlers(node: DescribedNode, publicAddress: PublicAddress) {
  let cached: Promise<Description> | undefined;
  const description = () => {
    cached ??= describe({ node, origin: ORIGIN }).catch((error: unknown) => {
      cached = undefined;
      throw error;
    });
    return cached;
  };
  return {
    readOpenapi: async () => okText((await description()).openapi),
    readDocs: async ({ request }) => {
      const { page } = await description();
      const shown = page.replaceAll(ORIGIN, escapeHtml(publicAddress.originOf(request)));
      return {
        write: (response) =>
          void response
            .set({ 'Content-Security-Policy': DOCS_POLICY, 'Cache-Control': 'no-store' })
            .type('text/html')
            .send(shown),
      };
    },
  } satisfies Partial<Handlers>;
}

export interface DescriptionInput {
  node: DescribedNode;
  /** The node's address in the page's examples. */
  origin: string;
}

/** The documentation of the API: the OpenAPI document as JSON, and as an HTML page. */
export interface Description {
  openapi: string;
  page: string;
}

/** Generates the documentation in a worker thread. It takes about 0.1 s, which would block other requests. */
function describe(input: DescriptionInput): Promise<Description> {
  return runInThread<Description>('describe', input);
}

/** Emits the name of each route other than GET that was answered without a problem. */
type Writes = EventEmitter<{ write: [RouteName] }>;

/** Handlers for jobs, and for the verification of the ledger, which is one. */
export function jobHandlers(store: Store, jobs: Jobs, writes: Writes) {
  return {
    startLedgerVerification: () => {
      const { job } = jobs.start('ledger_verification', 'entries', ({ signal, progress }) => {
        const total = readHead(store.read).seq;
        return runLedgerVerification(store, { signal, onProgress: (checked) => progress(checked, total) });
      });
      return accepted(job);
    },
    listJobs: ({ query, request }) => {
      const all = jobs.list();
      const items = all.slice(query.offset, query.offset + query.limit);
      return page(request, query, { items, total: all.length });
    },
    readJob: ({ params }) => ok(jobs.find(params.id ?? '') ?? noSuchJob()),
    cancelJob: async ({ params }) => ok((await jobs.cancel(params.id ?? '')) ?? noSuchJob()),
    streamManagement: () => ({
      write: (response) =>
        openEventStream(response, (send) => {
          const sendJob = (job: unknown) => send({ event: 'job', data: job });
          const sendWrite = (route: RouteName) => send({ event: 'write', data: { route } });
          jobs.on('job', sendJob);
          writes.on('write', sendWrite);
          return () => {
            jobs.off('job', sendJob);
            writes.off('write', sendWrite);
          };
        }),
    }),
  } satisfies Partial<Handlers>;
}

function noSuchJob(): never {
  throw new Problem('not_found', 'There is no such job. Ended jobs are removed after some time.');
}

/** Handlers for the rules that send alerts. */
export function alertHandlers(alerts: Alerts) {
  return {
    listAlerts: ({ query, request }) => page(request, query, alerts.list(query)),
    addAlert: async ({ body }) => {
      const alert = await alerts.add(body);
      return created(alert, `/manage/alerts/${alert.id}`);
    },
    readAlert: ({ params }) => ok(alerts.read(params.id ?? '')),
    changeAlert: async ({ params, body }) => ok(await alerts.change(params.id ?? '', body)),
    removeAlert: ({ params }) => noContentAfter(alerts.remove(params.id ?? '')),
    testAlert: async ({ params }) => ok(await alerts.test(params.id ?? '')),
    listDeliveries: ({ query, request }) => page(request, query, alerts.deliveries(query)),
    retryDelivery: async ({ params }) => ok(await alerts.retry(params.id ?? '')),
  } satisfies Partial<Handlers>;
}

/** Handlers for the peers of the archive. */
export function peerHandlers(
  store: Store,
  { peers, observations, nearby }: { peers: Peers; observations: Observations; nearby: Nearby },
) {
  return {
    listPeers: ({ query, request }) => pageOfAll(request, query, peers.list()),
    listNearbyNodes: async ({ query, request }) => pageOfAll(request, query, await nearby.discover()),
    addPeer: async ({ body }) => {
      const peer = await peers.add(body);
      return created(peer, `/manage/peers/${peer.id}`);
    },
    readPeer: ({ params }) => ok(peers.read(params.id ?? '')),
    changePeer: async ({ params, body }) => ok(await peers.change(params.id ?? '', body)),
    removePeer: ({ params }) => noContentAfter(peers.remove(params.id ?? '')),
    contactPeer: async ({ params }) => ok(await peers.contact(params.id ?? '')),
    browsePeerPacks: async ({ params, query, request }) =>
      page(request, query, await peers.packsOf(params.id ?? '', query)),
    browsePeerEvents: async ({ params, query, request }) =>
      page(request, query, await peers.eventsOf(params.id ?? '', query)),
    readPeerEvidence: ({ params }) => ok(peers.evidence(params.id ?? '')),
    listPeerProposals: ({ params, query, request }) =>
      pageOfAll(request, query, peers.proposals(params.id ?? '')),
    decidePeerProposal: async ({ params, body }) =>
      ok(await peers.decide(params.id ?? '', Number(params.number), body.decision)),
    mirrorPeer: ({ params, query, body }) => jobReply(query, peers.mirror(params.id ?? '', body)),
    repairFromPeers: ({ query }) => jobReply(query, peers.repair()),
    answerObservation: async ({ body }) => ok(await observations.answer(body.request)),
    readSourceObservers: ({ params }) => ok(observations.observersOf(params.id ?? '')),
    setSourceObservers: async ({ params, body }) =>
      ok(await observations.choose(params.id ?? '', body.peers)),
    readProvenance: ({ params, query }) => {
      const { id = '' } = params;
      const provenance = readProvenance(store, id);
      if (provenance) return ok(provenance);
      if (query.optional) return noContent;
      throw new Problem('not_found', `The pack ${id} was not mirrored from a peer.`);
    },
  } satisfies Partial<Handlers>;
}
