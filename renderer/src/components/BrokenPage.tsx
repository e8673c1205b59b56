import { useRouteError } from 'react-router';
import { ErrorNote } from './ErrorNote.tsx';
import { Page } from './Page.tsx';

/** Stands where a page failed to load or to draw; the rest of the interface goes on. */
export function BrokenPage() {
  const error = useRouteError();
  return (
    <Page title="This page could not be shown">
      <ErrorNote error={error} onRetry={() => window.location.reload()} />
    </Page>
  );
}
