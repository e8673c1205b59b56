import { Button } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import { Link, useParams } from 'react-router';
import { ApiProblem } from '../../../api/client.ts';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { EmptyState } from '../../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { Page } from '../../../components/layout/Page.tsx';
import { useIsOwner } from '../../../state/session.ts';
import { CheckOutcome } from '../CheckOutcome.tsx';
import { ImportedSourceNotice } from '../captures/ImportedSourceNotice.tsx';
import { FollowedLinks } from '../found/FollowedLinks.tsx';
import { NoiseRunNote } from '../noise/NoiseRunNote.tsx';
import { useSource } from '../useSources.ts';
import { CurrentText } from './CurrentText.tsx';
import { SourceActions } from './SourceActions.tsx';
import { SourceEvents } from './SourceEvents.tsx';
import { SourceFacts } from './SourceFacts.tsx';
import classes from './SourcePage.module.css';
import { SourceRetrievals } from './SourceRetrievals.tsx';

/** The page of one source: state, events and, for the owner, all retrievals. */
export default function SourcePage() {
  const { id = '' } = useParams();
  const isOwner = useIsOwner();
  const { source, watched, error, refetch } = useSource(id);
  if (error instanceof ApiProblem && error.document.code === 'not_found') return <UnknownSource id={id} />;
  if (error) {
    return (
      <Page title="Source" actions={<BackButton />}>
        <ErrorNote error={error} onRetry={() => void refetch()} />
      </Page>
    );
  }
  if (!source) {
    return (
      <Page title="Source">
        <p className="muted">Loading…</p>
      </Page>
    );
  }
  return (
    <Page
      title={source.name || source.url}
      lead={
        <span className={classes.lead}>
          {source.captures_only ? (
            <StateBadge kind="mark" value="captures_only" look="boxed" />
          ) : (
            <>
              <StateBadge kind="source" value={source.state} look="boxed" />
              {source.paused && <StateBadge kind="mark" value="paused" look="boxed" />}
            </>
          )}
          {watched?.removed && <strong>no longer watched</strong>}
          <a href={source.url} target="_blank" rel="noopener noreferrer nofollow">
            {source.url}
          </a>
        </span>
      }
      actions={watched && !watched.removed ? <SourceActions source={watched} /> : <BackButton />}
    >
      <CheckOutcome />
      {isOwner && <NoiseRunNote sourceId={id} />}
      {source.captures_only && <ImportedSourceNotice source={source} mayWatch={watched?.removed === false} />}
      <SourceFacts source={source} />
      {source.last_sha256 && <CurrentText source={source} sha256={source.last_sha256} />}
      <SourceEvents id={id} url={source.url} />
      {watched?.follow && <FollowedLinks source={watched} />}
      {isOwner && <SourceRetrievals id={id} />}
    </Page>
  );
}

function UnknownSource({ id }: { id: string }) {
  return (
    <Page title="Source">
      <EmptyState title="Source not found" action={<BackButton />}>
        This node has no source with the id <span className="mono wrap-anywhere">{id}</span>. A source that is
        no longer watched is still listed, with its history.
      </EmptyState>
    </Page>
  );
}

function BackButton() {
  return (
    <Button
      component={Link}
      to="/sources"
      variant="default"
      leftSection={<IconArrowLeft size={16} aria-hidden />}
    >
      Sources
    </Button>
  );
}
