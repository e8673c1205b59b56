import type { RouteObject } from 'react-router';
import { PageError } from '../components/layout/Page.tsx';
import { Shell } from '../components/layout/Shell.tsx';
import { type LoadPage, PAGES } from './pages.ts';

/**
 * Loads a page when it is first opened. The router does, not React's `lazy`: once React has shown a fallback, it shows
 * no other content for 300 ms.
 */
function pageAt(path: string, load: LoadPage): RouteObject {
  return {
    path,
    lazy: async () => ({ Component: (await load()).default }),
    hydrateFallbackElement: <p className="muted">Loading…</p>,
    errorElement: <PageError />,
  };
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
