import { useRouteError } from 'react-router';
import { NodeUnreachable } from '../../api/client.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { Page } from './Page.tsx';

/** Shown in place of a page that failed to load or render. The rest of the interface keeps working. */
export function PageError() {
  const error = useRouteError();
  // Each browser words a failed module load differently, with a URL that helps no one.
  const isUnloaded = error instanceof TypeError && /module script|dynamically imported/i.test(error.message);
  return (
    <Page title="This page could not be loaded">
      <ErrorNote
        error={isUnloaded ? new NodeUnreachable(error) : error}
        onRetry={() => window.location.reload()}
      />
    </Page>
  );
}
