import { archiveRoutes } from './routes/archive/archive.ts';
import { draftRoutes } from './routes/archive/drafts.ts';
import { driftRoutes } from './routes/archive/drift.ts';
import { evidenceRoutes } from './routes/archive/evidence.ts';
import { harvestingRoutes } from './routes/archive/harvesting.ts';
import { itemRoutes } from './routes/archive/items.ts';
import { packComparisonRoutes } from './routes/archive/packComparison.ts';
import { studyRoutes } from './routes/archive/studies.ts';
import { captureRoutes } from './routes/collection/captures.ts';
import { collectionRoutes } from './routes/collection/collection.ts';
import { derivedRoutes } from './routes/collection/derived.ts';
import { diffRoutes } from './routes/collection/diffs.ts';
import { followRoutes } from './routes/collection/follow.ts';
import { mementoRoutes } from './routes/collection/mementos.ts';
import { seenRoutes } from './routes/collection/seen.ts';
import { sourceRoutes } from './routes/collection/sources.ts';
import { viewRoutes } from './routes/collection/views.ts';
import { warcRoutes } from './routes/collection/warc.ts';
import { caseRoutes } from './routes/findings/cases.ts';
import { findingRoutes } from './routes/findings/findings.ts';
import { fixityRoutes } from './routes/ledger/fixity.ts';
import { ledgerRoutes } from './routes/ledger/ledger.ts';
import { timestampRoutes } from './routes/ledger/timestamps.ts';
import { witnessRoutes } from './routes/ledger/witness.ts';
import { alertRoutes } from './routes/node/alerts.ts';
import { copyRoutes } from './routes/node/copies.ts';
import { descriptionRoutes } from './routes/node/description.ts';
import { manageRoutes } from './routes/node/manage.ts';
import { offloadRoutes } from './routes/node/offload.ts';
import { peerRoutes } from './routes/node/peers.ts';
import type { RouteSpec } from './routes/route.ts';

/** The table of all routes. The server's routes, the client's functions and the OpenAPI document are generated from it. */
export const ROUTES = {
  ...archiveRoutes,
  ...packComparisonRoutes,
  ...draftRoutes,
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
  ...findingRoutes,
  ...caseRoutes,
  ...followRoutes,
  ...fixityRoutes,
  ...alertRoutes,
  ...copyRoutes,
  ...offloadRoutes,
  ...peerRoutes,
  ...manageRoutes,
  ...descriptionRoutes,
} satisfies Record<string, RouteSpec>;

export type RouteName = keyof typeof ROUTES;
export type RouteTable = typeof ROUTES;
