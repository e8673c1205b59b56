import '@fontsource-variable/inter/wght.css';
import '@fontsource-variable/source-serif-4/wght.css';
import '@fontsource-variable/source-code-pro/wght.css';
import './styles/base.css';
import './styles/classes.css';
import '@mantine/core/styles.layer.css';
import '@mantine/notifications/styles.layer.css';
import '@mantine/spotlight/styles.layer.css';
import './styles/mantine.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createBrowserRouter } from 'react-router';
import { RouterProvider } from 'react-router/dom';
import { isRefusal } from './api/client.ts';
import { giveTicketsToLinks, whenSignedOut } from './api/ownerSession.ts';
import { listenForPalette, openPalette } from './components/layout/paletteKeys.ts';
import { desktop } from './desktop.ts';
import { preloadPage } from './pages/pages.ts';
import { pageRoutes } from './pages/routes.tsx';
import { useSession } from './state/session.ts';
import { cssVariables, theme } from './styles/theme.ts';

/** Retries only when the node did not answer: a request that was refused once would be refused again. */
function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (failures, error) => failures < 2 && !isRefusal(error),
        refetchOnWindowFocus: true,
      },
    },
  });
}

const FIRST_PATH = window.location.pathname;

/**
 * Removes what the node wrote into the head about the first page, once another page is shown. Otherwise a citation
 * manager in the browser would save the wrong item.
 */
function removeItemElements(path: string): void {
  if (path === FIRST_PATH) return;
  for (const element of document.head.querySelectorAll('[data-item]')) element.remove();
}

/** The root component. */
function App() {
  const [queryClient] = useState(createQueryClient);
  const [router] = useState(() => createBrowserRouter(pageRoutes));
  useEffect(() => router.subscribe(({ location }) => removeItemElements(location.pathname)), [router]);
  // The desktop menu opens pages by their path.
  useEffect(() => desktop()?.onGoTo((path) => void router.navigate(path)), [router]);
  useEffect(() => desktop()?.onFind(openPalette), []);
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}

listenForPalette();
giveTicketsToLinks();
whenSignedOut(() => void useSession.getState().load());
// The node has no service worker. One that is here was left by another program that once had this address.
void navigator.serviceWorker
  ?.getRegistrations()
  .then((registrations) => Promise.all(registrations.map((registration) => registration.unregister())));

// Both are requested while React renders the frame.
void useSession.getState().load();
preloadPage(window.location.pathname);

const root = document.getElementById('root');
if (root) createRoot(root).render(<App />);
