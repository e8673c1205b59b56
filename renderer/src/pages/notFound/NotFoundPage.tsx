import { Button } from '@mantine/core';
import { Link, useLocation } from 'react-router';
import { EmptyState } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';

/** Shown for an unknown path. */
export default function NotFoundPage() {
  const { pathname } = useLocation();
  return (
    <Page title="Page not found">
      <EmptyState
        title="There is nothing at this address"
        action={
          <Button component={Link} to="/">
            Go to overview
          </Button>
        }
      >
        <code className="wrap-anywhere">{pathname}</code> does not exist on this node. Check the address for
        typos.
      </EmptyState>
    </Page>
  );
}
