import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION } from '../../shared/version.ts';
import { Drafts } from '../archive/drafts/drafts.ts';
import { FileDiffs } from '../collection/diff/diffs.ts';
import { PageCache } from '../collection/view/pageCache.ts';
import { ownerEncryption } from '../copies/keys/copyKeys.ts';
import type { Handlers } from '../http/app.ts';
import {
  invitationsHandlers,
  pairingHandlers,
  sampleHandlers,
  sessionHandlers,
} from '../http/routes/access.ts';
import { citationsHandlers, harvestingHandlers } from '../http/routes/archive/citations.ts';
import {
  blobsHandlers,
  depositHandlers,
  draftHandlers,
  importHandlers,
  packComparisonHandlers,
  packsHandlers,
  setHandlers,
} from '../http/routes/archive/packs.ts';
import {
  commentsHandlers,
  driftHandlers,
  nodesHandlers,
  studiesHandlers,
} from '../http/routes/archive/studies.ts';
import {
  captureHandlers,
  handedInHandlers,
  mementoHandlers,
  pageHandlers,
  warcHandlers,
} from '../http/routes/collection/captures.ts';
import {
  derivedHandlers,
  diffHandlers,
  eventHandlers,
  objectHandlers,
  viewHandlers,
} from '../http/routes/collection/events.ts';
import {
  collectionHandlers,
  followHandlers,
  profileHandlers,
  sourceHandlers,
} from '../http/routes/collection/sources.ts';
import { caseHandlers, findingHandlers } from '../http/routes/findings.ts';
import {
  evidenceHandlers,
  ledgerHandlers,
  tileHandlers,
  timestampHandlers,
  witnessHandlers,
} from '../http/routes/ledger.ts';
import {
  alertHandlers,
  descriptionHandlers,
  jobHandlers,
  nodeHandlers,
  peerHandlers,
} from '../http/routes/node.ts';
import { copyHandlers, dumpHandlers, fixityHandlers, withheldHandlers } from '../http/routes/preservation.ts';
import { Imports } from '../repositories/importRecord.ts';
import { isMissing } from '../store/files.ts';
import type { Reader } from '../withholding/withholding.ts';
import type { Services } from './openServices.ts';

/** Returns the handlers of all routes. */
export function handlersOf(services: Services): Handlers {
  // One for all, so that there is one limit, and what was compared is kept once.
  const fileDiffs = new FileDiffs(services.store, services.derived.deriver);
  return {
    ...archiveRoutes(services, fileDiffs),
    ...collectionRoutes(services, fileDiffs),
    ...findingRoutes(services),
    ...ledgerRoutes(services),
    ...nodeRoutes(services),
  };
}

function archiveRoutes(services: Services, fileDiffs: FileDiffs) {
  const { store, settings, log, jobs, nodeName, publicAddress, derived, collection, packBytes } = services;
  const drafts = new Drafts({ store, settings, jobs, log, packBytes });
  return {
    ...nodesHandlers(store),
    ...studiesHandlers(store, publicAddress),
    ...packsHandlers(store, settings, publicAddress),
    ...packComparisonHandlers(store, fileDiffs),
    ...setHandlers(store),
    ...draftHandlers(drafts),
    ...importHandlers(
      new Imports({ store, drafts, requests: collection.requests, jobs, settings: () => settings.current }),
      drafts,
    ),
    ...driftHandlers(store),
    ...commentsHandlers(store),
    ...citationsHandlers({ store, texts: derived.texts }, nodeName, publicAddress),
    ...harvestingHandlers(store, settings, nodeName, publicAddress),
    ...blobsHandlers(store),
  };
}

function collectionRoutes(services: Services, fileDiffs: FileDiffs) {
  const { store, key, log, settings, nodeName, publicAddress, exports, rendererFolder } = services;
  const { collection, derived, diffs, noise, summaries, checkpoints, timestamps } = services;
  const exporter = { nodeName, nodeKey: key.verifierKey, version: VERSION };
  return {
    ...sourceHandlers(store, collection),
    ...followHandlers(store, collection),
    ...profileHandlers(collection),
    ...captureHandlers(collection.captures),
    ...handedInHandlers(collection.handedIn, { store, texts: derived.texts }, nodeName),
    ...collectionHandlers(store, settings),
    ...eventHandlers(store, nodeName, { exports, publicAddress, summaries, log }),
    ...pageHandlers(store, collection, fileDiffs, derived.deriver),
    ...objectHandlers(store),
    ...mementoHandlers(store, publicAddress),
    ...warcHandlers({ store, checkpoints, timestamps, exporter }, exports),
    ...derivedHandlers(store, derived.texts),
    ...diffHandlers(store, diffs, noise, fileDiffs),
    ...viewHandlers(store, new PageCache(store, derived.deriver), () =>
      readBuiltFile(join(rendererFolder, 'chooser/choose.js')),
    ),
  };
}

function findingRoutes(services: Services) {
  const { store, nodeName, rendererFolder, exports, publicAddress } = services;
  const evidence = evidenceServices(services);
  return {
    ...findingHandlers(store, nodeName, {
      exports,
      publicAddress,
      passages: evidence.passages,
      encryption: ownerEncryption(store.folder),
    }),
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
    ...withheldHandlers(store),
  };
}

function nodeRoutes(services: Services) {
  const { store, settings, jobs, nodeName } = services;
  const { keys, sessions, invitations, publicAddress, sharing, listeners, tls } = services;
  const { pairings, rendererFolder, sample } = services;
  const { alerts, copies, offloading, deposits, peers, observations, nearby } = services;
  return {
    ...alertHandlers(alerts),
    ...copyHandlers(copies, offloading),
    ...depositHandlers(store, deposits),
    ...peerHandlers(store, { peers, observations, nearby }),
    ...descriptionHandlers({ version: VERSION }, publicAddress),
    ...invitationsHandlers(invitations),
    ...pairingHandlers({
      store,
      pairings,
      nodeName,
      readExtensionZip: () => readBuiltFile(join(rendererFolder, '../strongroom-extension.zip')),
    }),
    ...sessionHandlers({ keys, sessions, sharing, publicAddress, nodeName, version: VERSION, sample }),
    ...sampleHandlers(sample),
    ...jobHandlers(store, jobs, services.writes),
    ...nodeHandlers({
      store,
      log: services.recentLog,
      updates: services.updates,
      roundPause: () => services.collection.paused,
      settings,
      changeSettings: (requested) => alerts.changeSettings(requested, (change) => tls.changeSettings(change)),
      sharing,
      addresses: () => listeners.networkAddresses,
      tls: () => listeners.tls,
      publicAddress,
    }),
  };
}

function evidenceServices({ store, checkpoints, diffs, derived }: Services) {
  return {
    passages: derived.passages,
    seen: new Set<string>(),
    store,
    checkpoints,
    diffOf: (id: string, reader: Reader) => diffs.diffOf(id, reader),
  };
}

/** Returns the document of the built interface, or undefined if there is none. It may be built while the node runs. */
export function readInterfaceDocument(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, 'index.html'), 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Returns a built file, or undefined if there is none. */
export async function readBuiltFile(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
