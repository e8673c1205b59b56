import { Button } from '@mantine/core';
import { Link } from 'react-router';
import { EmptyState } from '../../../components/feedback/EmptyState.tsx';
import { useIsOwner } from '../../../state/session.ts';

export interface NoEventsProps {
  query: Record<string, string | undefined>;
  isFiltered: boolean;
  onClearFilters: () => void;
}

/** What the list shows without events: why there are none, and what to do. */
export function NoEvents({ query, isFiltered, onClearFilters }: NoEventsProps) {
  if (!isFiltered) return <NoneYet />;
  return <NoMatch words={query.q} isAllSeen={query.seen === 'false'} onClearFilters={onClearFilters} />;
}

interface NoMatchProps {
  words: string | undefined;
  isAllSeen: boolean;
  onClearFilters: () => void;
}

function NoMatch({ words, isAllSeen, onClearFilters }: NoMatchProps) {
  return (
    <EmptyState
      title={isAllSeen ? 'Nothing unseen' : 'No event matches'}
      action={
        <Button variant="default" onClick={onClearFilters}>
          Clear filters
        </Button>
      }
    >
      {isAllSeen ? 'You have seen all events that match.' : 'An event must match every filter.'}
      {words && (
        <>
          {' '}
          To search the content of sources, use{' '}
          <Link to={`/search?${new URLSearchParams({ q: words }).toString()}`}>text search</Link>.
        </>
      )}
    </EmptyState>
  );
}

function NoneYet() {
  const isOwner = useIsOwner();
  return (
    <EmptyState
      title="No events yet"
      action={
        isOwner && (
          <Button component={Link} to="/sources?add">
            Watch a source
          </Button>
        )
      }
    >
      Events appear here when a watched source is first retrieved, changes, becomes unavailable, disappears or
      recovers. Each event keeps the bytes from before and after. The first check of a source creates its
      first event.
    </EmptyState>
  );
}
