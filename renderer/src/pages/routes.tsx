import { lazy } from 'react';
import type { RouteObject } from 'react-router';
import { PageError } from '../components/layout/PageError.tsx';
import { Shell } from '../components/layout/Shell.tsx';
import { type LoadPage, PAGES } from './pages.ts';

/** Loads a page when it is first opened. */
function pageAt(path: string, load: LoadPage): RouteObject {
  const Content = lazy(load);
  return { path, element: <Content />, errorElement: <PageError /> };
}

export const pageRoutes: RouteObject[] = [
  {
    element: <Shell />,
    errorElement: <PageError />,
    children: [
      ...Object.entries(PAGES).map(([path, load]) => pageAt(path, load)),
      pageAt('*', () => import('./notFound/NotFoundPage.tsx')),
    ],
  },
];
