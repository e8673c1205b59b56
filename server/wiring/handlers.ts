import { Drafts } from '../archive/drafts/drafts.ts';
import { FileDiffs } from '../collection/diff/fileDiffs.ts';
import { PageCache } from '../collection/view/pageCache.ts';
import { VERSION } from '../config.ts';
import type { Handlers } from '../http/app.ts';
import { blobsHandlers } from '../http/routes/archive/blobs.ts';
import { citationsHandlers } from '../http/routes/archive/citations.ts';
import { commentsHandlers } from '../http/routes/archive/comments.ts';
import { draftHandlers } from '../http/routes/archive/drafts.ts';
import { driftHandlers } from '../http/routes/archive/drift.ts';
import { harvestingHandlers } from '../http/routes/archive/harvesting.ts';
import { packComparisonHandlers } from '../http/routes/archive/packComparison.ts';
import { packsHandlers } from '../http/routes/archive/packs.ts';
import { studiesHandlers } from '../http/routes/archive/studies.ts';
import { nodesHandlers } from '../http/routes/archive/treeNodes.ts';
import { captureHandlers } from '../http/routes/collection/captures.ts';
import { collectionHandlers } from '../http/routes/collection/collection.ts';
import { derivedHandlers } from '../http/routes/collection/derived.ts';
import { diffHandlers } from '../http/routes/collection/diffs.ts';
import { eventHandlers } from '../http/routes/collection/events.ts';
import { followHandlers } from '../http/routes/collection/follow.ts';
import { mementoHandlers } from '../http/routes/collection/mementos.ts';
import { objectHandlers } from '../http/routes/collection/objects.ts';
import { sourceHandlers } from '../http/routes/collection/sources.ts';
import { viewHandlers } from '../http/routes/collection/views.ts';
import { warcHandlers } from '../http/routes/collection/warc.ts';
import { caseHandlers } from '../http/routes/findings/cases.ts';
import { findingHandlers } from '../http/routes/findings/findings.ts';
import { dumpHandlers } from '../http/routes/ledger/dump.ts';
import { evidenceHandlers } from '../http/routes/ledger/evidence.ts';
import { fixityHandlers } from '../http/routes/ledger/fixity.ts';
import { ledgerHandlers } from '../http/routes/ledger/ledger.ts';
import { tileHandlers } from '../http/routes/ledger/tiles.ts';
import { timestampHandlers } from '../http/routes/ledger/timestamps.ts';
import { witnessHandlers } from '../http/routes/ledger/witness.ts';
import { alertHandlers } from '../http/routes/node/alerts.ts';
import { copyHandlers } from '../http/routes/node/copies.ts';
import { descriptionHandlers } from '../http/routes/node/description.ts';
import { invitationsHandlers } from '../http/routes/node/invitations.ts';
import { jobHandlers } from '../http/routes/node/jobs.ts';
import { nodeHandlers } from '../http/routes/node/node.ts';
import { peerHandlers } from '../http/routes/node/peers.ts';
import { sessionHandlers } from '../http/routes/node/sessions.ts';
import type { Services } from './openServices.ts';

/** Returns the handlers of all routes. */
export function handlersOf(services: Services): Handlers {
  return {
    ...archiveRoutes(services),
    ...collectionRoutes(services),
    ...findingRoutes(services),
    ...ledgerRoutes(services),
    ...nodeRoutes(services),
  };
}

function archiveRoutes({ store, settings, log, nodeName, publicAddress, derived }: Services) {
  return {
    ...nodesHandlers(store),
    ...studiesHandlers(store, publicAddress),
    ...packsHandlers(store, publicAddress),
    ...packComparisonHandlers(store, new FileDiffs(store, derived.deriver)),
    ...draftHandlers(new Drafts({ store, settings, log })),
    ...driftHandlers(store),
    ...commentsHandlers(store),
    ...citationsHandlers(store, nodeName, publicAddress),
    ...harvestingHandlers(store, settings, nodeName, publicAddress),
    ...blobsHandlers(store),
  };
}

function collectionRoutes(services: Services) {
  const { store, key, settings, nodeName, publicAddress, exports } = services;
  const { collection, derived, diffs, noise, summaries } = services;
  return {
    ...sourceHandlers(store, collection),
    ...followHandlers(store, collection),
    ...captureHandlers(collection.captures),
    ...collectionHandlers(store, settings),
    ...eventHandlers(store, nodeName, { exports, publicAddress, summaries }),
    ...objectHandlers(store),
    ...mementoHandlers(store, publicAddress),
    ...warcHandlers(store, { nodeName, nodeKey: key.verifierKey, version: VERSION }, exports),
    ...derivedHandlers(store, derived.texts),
    ...diffHandlers(diffs, noise),
    ...viewHandlers(store, new PageCache(store, derived.deriver)),
  };
}

function findingRoutes(services: Services) {
  const { store, nodeName, rendererFolder, exports, publicAddress } = services;
  const evidence = evidenceServices(services);
  return {
    ...findingHandlers(store, nodeName, { exports, publicAddress }),
    ...caseHandlers(evidence, { nodeName, rendererFolder, exports, publicAddress }),
  };
}

function ledgerRoutes(services: Services) {
  const { store, checkpoints, timestamps, witnesses, fixity, exports, rendererFolder } = services;
  return {
    ...ledgerHandlers(store, checkpoints),
    ...tileHandlers(store, checkpoints),
    ...timestampHandlers(store, timestamps),
    ...witnessHandlers(store, checkpoints, witnesses),
    ...evidenceHandlers(evidenceServices(services), rendererFolder),
    ...dumpHandlers(store, checkpoints, exports),
    ...fixityHandlers(store, fixity),
  };
}

function nodeRoutes(services: Services) {
  const { store, settings, jobs, nodeName } = services;
  const { keys, sessions, invitations, cookieName, publicAddress, sharing, listeners, tls } = services;
  const { alerts, copies, offloading, peers, nearby } = services;
  return {
    ...alertHandlers(alerts),
    ...copyHandlers(copies, offloading),
    ...peerHandlers(store, peers, nearby),
    ...descriptionHandlers({ version: VERSION, cookieName }, publicAddress),
    ...invitationsHandlers(invitations),
    ...sessionHandlers({ keys, sessions, sharing, publicAddress, nodeName, version: VERSION }),
    ...jobHandlers(store, jobs),
    ...nodeHandlers({
      store,
      settings,
      changeSettings: (requested) => alerts.changeSettings(requested, (change) => tls.changeSettings(change)),
      sharing,
      addresses: () => listeners.networkAddresses,
      tls: () => listeners.tls,
      publicAddress,
    }),
  };
}

function evidenceServices({ store, checkpoints, diffs }: Services) {
  return { store, checkpoints, diffOf: (id: string) => diffs.diffOf(id) };
}
