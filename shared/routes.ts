import { archiveRoutes, evidenceRoutes, packComparisonRoutes } from './routes/archive/archive.ts';
import { draftRoutes } from './routes/archive/drafts.ts';
import { harvestingRoutes } from './routes/archive/harvesting.ts';
import { importRoutes } from './routes/archive/imports.ts';
import { itemRoutes } from './routes/archive/items.ts';
import { setRoutes } from './routes/archive/sets.ts';
import { driftRoutes, studyRoutes } from './routes/archive/studies.ts';
import { captureRoutes, mementoRoutes, warcRoutes } from './routes/collection/captures.ts';
import { collectionRoutes, seenRoutes } from './routes/collection/collection.ts';
import { derivedRoutes, diffRoutes, viewRoutes } from './routes/collection/derived.ts';
import { handedInRoutes } from './routes/collection/handedIn.ts';
import { pageRoutes } from './routes/collection/pages.ts';
import { profileRoutes } from './routes/collection/profiles.ts';
import { followRoutes, sourceRoutes } from './routes/collection/sources.ts';
import { caseRoutes, findingRoutes } from './routes/findings/findings.ts';
import { fixityRoutes, ledgerRoutes, timestampRoutes, witnessRoutes } from './routes/ledger.ts';
import { alertRoutes } from './routes/node/alerts.ts';
import { copyRoutes } from './routes/node/copies.ts';
import { depositRoutes } from './routes/node/deposits.ts';
import { descriptionRoutes, manageRoutes } from './routes/node/manage.ts';
import { offloadRoutes } from './routes/node/offload.ts';
import { pairingRoutes } from './routes/node/pairing.ts';
import { peerRoutes } from './routes/node/peers.ts';
import { withheldRoutes } from './routes/node/withheld.ts';
import type { RouteSpec } from './routes/route.ts';

/** The table of all routes. The server's routes, the client's functions and the OpenAPI document are generated from it. */
export const ROUTES = {
  ...archiveRoutes,
  ...packComparisonRoutes,
  ...setRoutes,
  ...draftRoutes,
  ...importRoutes,
  ...driftRoutes,
  ...studyRoutes,
  ...itemRoutes,
  ...harvestingRoutes,
  ...ledgerRoutes,
  ...timestampRoutes,
  ...witnessRoutes,
  ...evidenceRoutes,
  ...captureRoutes,
  ...handedInRoutes,
  // Before the objects, whose addresses have a digest in the place of `pages`.
  ...pageRoutes,
  ...collectionRoutes,
  ...derivedRoutes,
  ...diffRoutes,
  ...seenRoutes,
  ...mementoRoutes,
  ...viewRoutes,
  ...warcRoutes,
  ...sourceRoutes,
  ...profileRoutes,
  ...findingRoutes,
  ...caseRoutes,
  ...followRoutes,
  ...fixityRoutes,
  ...withheldRoutes,
  ...alertRoutes,
  ...copyRoutes,
  ...offloadRoutes,
  ...depositRoutes,
  ...peerRoutes,
  ...manageRoutes,
  ...pairingRoutes,
  ...descriptionRoutes,
} satisfies Record<string, RouteSpec>;

export type RouteName = keyof typeof ROUTES;
export type RouteTable = typeof ROUTES;
