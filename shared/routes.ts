import { archiveRoutes, evidenceRoutes, packComparisonRoutes, setRoutes } from './routes/archive/archive.ts';
import { draftRoutes } from './routes/archive/drafts.ts';
import { harvestingRoutes, itemRoutes } from './routes/archive/items.ts';
import { depositRoutes, importRoutes } from './routes/archive/repositories.ts';
import { driftRoutes, studyRoutes } from './routes/archive/studies.ts';
import { captureRoutes, mementoRoutes, warcRoutes } from './routes/collection/captures.ts';
import { collectionRoutes, seenRoutes } from './routes/collection/collection.ts';
import { derivedRoutes, diffRoutes, viewRoutes } from './routes/collection/derived.ts';
import { handedInRoutes, pageRoutes } from './routes/collection/pages.ts';
import { followRoutes, profileRoutes, sourceRoutes } from './routes/collection/sources.ts';
import { caseRoutes, findingRoutes } from './routes/findings/findings.ts';
import { fixityRoutes, ledgerRoutes, timestampRoutes, witnessRoutes } from './routes/ledger.ts';
import { alertRoutes } from './routes/node/alerts.ts';
import { copyRoutes, offloadRoutes } from './routes/node/copies.ts';
import { descriptionRoutes, manageRoutes } from './routes/node/manage.ts';
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

/** The same table for code that treats all routes alike. The compiler takes long to compare the types of all of them. */
export const ROUTE_SPECS: Readonly<Record<RouteName, RouteSpec>> = ROUTES;
