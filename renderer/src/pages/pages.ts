import type { ComponentType } from 'react';
import { matchPath } from 'react-router';

export type LoadPage = () => Promise<{ default: ComponentType }>;

/** The pages by path, each loaded when it is first needed. The paths are defined in shared/node/pages.ts. */
export const PAGES: Readonly<Record<string, LoadPage>> = {
  '/': () => import('./overview/OverviewPage.tsx'),
  '/packs': () => import('./packs/PacksPage.tsx'),
  '/packs/:id': () => import('./packs/PackPage.tsx'),
  '/packs/:id/compare/:other': () => import('./packs/ComparePage.tsx'),
  '/sources': () => import('./sources/SourcesPage.tsx'),
  '/sources/:id': () => import('./sources/SourcePage.tsx'),
  '/search': () => import('./search/SearchPage.tsx'),
  '/timeline/:id?': () => import('./timeline/TimelinePage.tsx'),
  '/view/:sha256': () => import('./view/ViewPage.tsx'),
  '/pages/:id': () => import('./captures/CapturePage.tsx'),
  '/pages/:id/compare/:other': () => import('./captures/ComparePage.tsx'),
  '/draws/:id': () => import('./captures/DrawPage.tsx'),
  '/hand-in': () => import('./handedIn/SentPage.tsx'),
  '/handed-in': () => import('./handedIn/HandedInPage.tsx'),
  '/handed-in/:id': () => import('./handedIn/HandInPage.tsx'),
  '/findings': () => import('./findings/FindingsPage.tsx'),
  '/cases': () => import('./cases/CasesPage.tsx'),
  '/cases/:id': () => import('./cases/CasePage.tsx'),
  '/alerts': () => import('./alerts/AlertsPage.tsx'),
  '/alerts/deliveries': () => import('./alerts/DeliveriesPage.tsx'),
  '/ledger': () => import('./ledger/LedgerPage.tsx'),
  '/verify': () => import('./verify/VerifyPage.tsx'),
  '/assemble': () => import('./assemble/AssemblePage.tsx'),
  '/studies': () => import('./studies/StudiesPage.tsx'),
  '/studies/:id': () => import('./studies/StudyPage.tsx'),
  '/nodes': () => import('./subjects/SubjectsPage.tsx'),
  '/nodes/*': () => import('./subjects/SubjectPage.tsx'),
  '/withheld': () => import('./withheld/WithheldPage.tsx'),
  '/sharing': () => import('./sharing/SharingPage.tsx'),
  '/sharing/peers/:id': () => import('./sharing/peers/PeerPage.tsx'),
  '/settings': () => import('./settings/SettingsPage.tsx'),
  '/help': () => import('./help/HelpPage.tsx'),
};

/** Begins to load the page at a path. An error is reported when the page is opened. */
export function preloadPage(path: string): void {
  const pattern = Object.keys(PAGES).find((key) => matchPath(key, path));
  if (pattern !== undefined) PAGES[pattern]?.().catch(() => undefined);
}
