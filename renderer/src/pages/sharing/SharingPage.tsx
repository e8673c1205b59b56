import { useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useIsOwner, useSession } from '../../state/session.ts';
import { Addresses } from './Addresses.tsx';
import { AsVisitor } from './AsVisitor.tsx';
import { Encryption } from './Encryption.tsx';
import { Invitations } from './Invitations.tsx';
import { Permissions } from './Permissions.tsx';
import { Peers } from './peers/Peers.tsx';
import { SharingMode } from './SharingMode.tsx';

/** Who can reach the node, at which addresses, and what they may do. */
export default function SharingPage() {
  const isOwner = useIsOwner();
  const isKnown = useSession((state) => state.session !== undefined);
  const sharing = useCall('readSharing', {}, { enabled: isOwner });
  return (
    <Page title="Sharing" lead={isOwner && 'Let others on your network open this archive in their browser.'}>
      {isKnown && !isOwner && <AsVisitor />}
      {sharing.error && <ErrorNote error={sharing.error} onRetry={() => void sharing.refetch()} />}
      {sharing.data && (
        <>
          <SharingMode sharing={sharing.data} />
          <Addresses mode={sharing.data.mode} />
          <Encryption />
          <Invitations sharing={sharing.data} />
          <Permissions sharing={sharing.data} />
          <Peers mode={sharing.data.mode} />
        </>
      )}
    </Page>
  );
}
