import { useRouteError } from 'react-router';
import { NodeUnreachable } from '../../api/client.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { Page } from './Page.tsx';

/** Stands where a page failed to load or to draw; the rest of the interface goes on. */
export function BrokenPage() {
  const error = useRouteError();
  // Every browser words it in its own way, with an address that helps nobody.
  const isUnloaded = error instanceof TypeError && /module script|dynamically imported/i.test(error.message);
  return (
    <Page title="This page could not be shown">
      <ErrorNote
        error={isUnloaded ? new NodeUnreachable(error) : error}
        onRetry={() => window.location.reload()}
      />
    </Page>
  );
}
