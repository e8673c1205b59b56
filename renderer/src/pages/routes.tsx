import { type ComponentType, lazy } from 'react';
import type { RouteObject } from 'react-router';
import { PageError } from '../components/layout/PageError.tsx';
import { Shell } from '../components/layout/Shell.tsx';

type PageModule = Promise<{ default: ComponentType }>;

/** Loads a page when it is first opened. The paths are defined in shared/pages.ts. */
function pageAt(path: string, load: () => PageModule): RouteObject {
  const Content = lazy(load);
  return { path, element: <Content />, errorElement: <PageError /> };
}

export const pageRoutes: RouteObject[] = [
  {
    element: <Shell />,
    errorElement: <PageError />,
    children: [
      pageAt('/', () => import('./overview/OverviewPage.tsx')),
      pageAt('/packs', () => import('./packs/PacksPage.tsx')),
      pageAt('/packs/:id', () => import('./packs/PackPage.tsx')),
      pageAt('/packs/:id/compare/:other', () => import('./packs/compare/ComparePage.tsx')),
      pageAt('/sources', () => import('./sources/SourcesPage.tsx')),
      pageAt('/sources/:id', () => import('./sources/detail/SourcePage.tsx')),
      pageAt('/search', () => import('./search/SearchPage.tsx')),
      pageAt('/timeline/:id?', () => import('./timeline/TimelinePage.tsx')),
      pageAt('/view/:sha256', () => import('./view/ViewPage.tsx')),
      pageAt('/ledger', () => import('./ledger/LedgerPage.tsx')),
      pageAt('/verify', () => import('./verify/VerifyPage.tsx')),
      pageAt('/assemble', () => import('./assemble/AssemblePage.tsx')),
      pageAt('/studies', () => import('./studies/StudiesPage.tsx')),
      pageAt('/studies/:id', () => import('./studies/StudyPage.tsx')),
      pageAt('/nodes', () => import('./subjects/SubjectsPage.tsx')),
      pageAt('/nodes/*', () => import('./subjects/SubjectPage.tsx')),
      pageAt('/sharing', () => import('./sharing/SharingPage.tsx')),
      pageAt('/settings', () => import('./settings/SettingsPage.tsx')),
      pageAt('*', () => import('./notFound/NotFoundPage.tsx')),
    ],
  },
];
