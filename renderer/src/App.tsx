import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { createBrowserRouter, RouterProvider } from 'react-router';
import { isRefusal } from './api/client.ts';
import { desktop } from './desktop.ts';
import { pageRoutes } from './pages/routes.tsx';
import { cssVariables, theme } from './styles/theme.ts';

/** What the node refused once it would refuse again; only silence is worth another try. */
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

/** The whole interface. */
export function App() {
  const [queryClient] = useState(createQueryClient);
  const [router] = useState(() => createBrowserRouter(pageRoutes));
  // A menu of the desktop asks for pages by their address.
  useEffect(() => desktop()?.onGoTo((path) => void router.navigate(path)), [router]);
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
