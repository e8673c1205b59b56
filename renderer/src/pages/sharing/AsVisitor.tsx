import { Button } from '@mantine/core';
import { Link, useLocation } from 'react-router';
import { isPeerFragment } from '../../../../shared/node/peerLink.ts';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../components/forms/CopyButton.tsx';
import { useInvitationLink } from '../../state/invitationLink.ts';
import { useMayContribute, useNeedsInvitation } from '../../state/session.ts';
import { EnterInvitation } from './EnterInvitation.tsx';

/** What a visitor may do, and the form for an invitation if one is needed. */
export function AsVisitor() {
  const needsInvitation = useNeedsInvitation();
  const mayContribute = useMayContribute();
  const { state, error } = useInvitationLink();
  const { hash } = useLocation();
  if (state === 'sending') return <p className="muted">Accepting the invitation…</p>;
  if (isPeerFragment(hash)) return <LinkForNodes />;
  if (needsInvitation) return <EnterInvitation />;
  return (
    <>
      {state === 'failed' && <ErrorNote error={error} />}
      <EmptyState
        title={mayContribute ? 'You may contribute' : 'You may read'}
        action={
          mayContribute && (
            <Button component={Link} to="/assemble">
              Publish a pack
            </Button>
          )
        }
      >
        {mayContribute
          ? 'Packs, studies, subjects, comments and flags that you add are recorded in the ledger permanently.'
          : 'The owner shares this archive for reading. You can open every page and verify every byte.'}
        {state === 'accepted' && mayContribute && ' This browser keeps the invitation.'}
        {state === 'accepted' &&
          !mayContribute &&
          ' Your invitation is valid, but the owner does not accept contributions at the moment.'}
      </EmptyState>
    </>
  );
}

/** Shown when a browser opens the link that is meant for another node. */
function LinkForNodes() {
  return (
    <EmptyState
      title="This is a link for another node"
      action={<CopyButton text={window.location.href} what="the link" />}
    >
      Copy the address of this page. In your own Strongroom, open Sharing, choose “Add a peer” and paste it.
      Your node then checks that this one has the key in the link. In this browser you can read the archive
      without it.
    </EmptyState>
  );
}
