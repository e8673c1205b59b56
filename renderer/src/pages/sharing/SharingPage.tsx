import { useCall } from '../../api/useCall.ts';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useIsOwner, useMayContribute, useNeedsInvitation, useSession } from '../../state/session.ts';
import { Addresses } from './Addresses.tsx';
import { EnterInvitation } from './EnterInvitation.tsx';
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
      lead={
        isOwner &&
        'Others on your network can open this archive in their browser, as far as you let them. Nothing is sent anywhere by itself.'
      }
    >
      {isKnown && !isOwner && <AsVisitor />}
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

function AsVisitor() {
  const needsInvitation = useNeedsInvitation();
  const mayContribute = useMayContribute();
  if (needsInvitation) return <EnterInvitation />;
  return (
    <EmptyState title={mayContribute ? 'You may contribute' : 'You may read'}>
      {mayContribute
        ? 'Packs, studies, nodes, comments and flags that you add are recorded in the ledger for good.'
        : 'The owner shares this archive for reading. Every page can be opened and every byte be verified.'}
    </EmptyState>
  );
}
