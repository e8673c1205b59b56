import { archiveRoutes } from './routes/archive.ts';
import { captureRoutes } from './routes/captures.ts';
import { collectionRoutes } from './routes/collection.ts';
import { copyRoutes } from './routes/copies.ts';
import { derivedRoutes } from './routes/derived.ts';
import { descriptionRoutes } from './routes/description.ts';
import { diffRoutes } from './routes/diffs.ts';
import { driftRoutes } from './routes/drift.ts';
import { evidenceRoutes } from './routes/evidence.ts';
import { fixityRoutes } from './routes/fixity.ts';
import { harvestingRoutes } from './routes/harvesting.ts';
import { itemRoutes } from './routes/items.ts';
import { ledgerRoutes } from './routes/ledger.ts';
import { manageRoutes } from './routes/manage.ts';
import { mementoRoutes } from './routes/mementos.ts';
import { packComparisonRoutes } from './routes/packComparison.ts';
import { peerRoutes } from './routes/peers.ts';
import type { RouteSpec } from './routes/route.ts';
import { seenRoutes } from './routes/seen.ts';
import { sourceRoutes } from './routes/sources.ts';
import { studyRoutes } from './routes/studies.ts';
import { timestampRoutes } from './routes/timestamps.ts';
import { viewRoutes } from './routes/views.ts';
import { warcRoutes } from './routes/warc.ts';
import { witnessRoutes } from './routes/witness.ts';

/** The table of all routes. The server's routes, the client's functions and the OpenAPI document are generated from it. */
export const ROUTES = {
  ...archiveRoutes,
  ...packComparisonRoutes,
  ...driftRoutes,
  ...studyRoutes,
  ...itemRoutes,
  ...harvestingRoutes,
  ...ledgerRoutes,
  ...timestampRoutes,
  ...witnessRoutes,
  ...evidenceRoutes,
  ...captureRoutes,
  ...collectionRoutes,
  ...derivedRoutes,
  ...diffRoutes,
  ...seenRoutes,
  ...mementoRoutes,
  ...viewRoutes,
  ...warcRoutes,
  ...sourceRoutes,
  ...fixityRoutes,
  ...copyRoutes,
  ...peerRoutes,
  ...manageRoutes,
  ...descriptionRoutes,
} satisfies Record<string, RouteSpec>;

export type RouteName = keyof typeof ROUTES;
export type RouteTable = typeof ROUTES;
