import { useCall } from '../../api/useCall.ts';
import { EmptyState } from '../../components/EmptyState.tsx';
import { ErrorNote } from '../../components/ErrorNote.tsx';
import { Page } from '../../components/Page.tsx';
import { useIsOwner, useSession } from '../../state/session.ts';
import { Addresses } from './Addresses.tsx';
import { Invitations } from './Invitations.tsx';
import { SharingMode } from './SharingMode.tsx';
import { WhoMayDoWhat } from './WhoMayDoWhat.tsx';

/** Who may reach the node, where, and what they may do here. */
export default function SharingPage() {
  const isOwner = useIsOwner();
  const isKnown = useSession((state) => state.session !== undefined);
  const sharing = useCall('readSharing', {}, { enabled: isOwner });
  return (
    <Page
      title="Sharing"
      lead="Others on your network can open this archive in their browser. Nothing leaves this machine unless they ask for it."
    >
      {isKnown && !isOwner && (
        <EmptyState title="Sharing is the owner’s to decide">
          You are visiting. The owner signs in with the one-time link that the node printed when it started.
        </EmptyState>
      )}
      {sharing.error && <ErrorNote error={sharing.error} onRetry={() => void sharing.refetch()} />}
      {sharing.data && (
        <>
          <SharingMode sharing={sharing.data} />
          <Addresses mode={sharing.data.mode} />
          <Invitations sharing={sharing.data} />
          <WhoMayDoWhat sharing={sharing.data} />
        </>
      )}
    </Page>
  );
}
