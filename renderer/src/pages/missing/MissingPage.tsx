import { Button } from '@mantine/core';
import { Link, useLocation } from 'react-router';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { Page } from '../../components/layout/Page.tsx';

/** For an address that is none of the interface's. */
export default function MissingPage() {
  const { pathname } = useLocation();
  return (
    <Page title="There is no such page">
      <EmptyState
        title="Nothing is kept at this address"
        action={
          <Button component={Link} to="/">
            Go to the overview
          </Button>
        }
      >
        <code className="wrap-anywhere">{pathname}</code> is no page of this node. It may have been mistyped,
        or the link that led here was cut short.
      </EmptyState>
    </Page>
  );
}
