import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import type { Peer } from '../../../../../../shared/node/peer.ts';
import { call } from '../../../../api/client.ts';
import { useCall } from '../../../../api/useCall.ts';
import { ErrorNote } from '../../../../components/feedback/ErrorNote.tsx';
import { ItemPage } from '../../../../components/layout/ItemPage.tsx';
import { Page } from '../../../../components/layout/Page.tsx';
import { MirrorOutcome } from '../MirrorOutcome.tsx';
import { PeerState } from '../PeerState.tsx';
import { PeerSwitches } from '../PeerSwitches.tsx';
import classes from '../Peers.module.css';
import { PinnedFacts } from '../PinnedFacts.tsx';
import { useMirror } from '../useMirror.ts';
import { useReloadPeers } from '../useReloadPeers.ts';
import { PeerEvents } from './PeerEvents.tsx';
import { PeerPacks } from './PeerPacks.tsx';

/** One peer: what it shows, and what of it is taken. */
export default function PeerPage() {
  const { id = '' } = useParams();
  const query = useCall('readPeer', { params: { id } });
  return (
    <ItemPage
      query={query}
      name="Peer"
      list={{ to: '/sharing', label: 'All peers' }}
      missing="It may have been removed."
    >
      {(peer) => <Opened key={id} peer={peer} />}
    </ItemPage>
  );
}

function Opened({ peer }: { peer: Peer }) {
  const reload = useReloadPeers();
  const mirror = useMirror(peer);
  const contact = useMutation({
    mutationFn: () => call('contactPeer', { params: { id: peer.id } }),
    onSettled: reload,
  });
  return (
    <Page
      title={peer.name}
      lead={
        <>
          <Link to="/sharing">Peer</Link> at <span className="wrap-anywhere">{peer.url}</span>
        </>
      }
      actions={
        <>
          <Button variant="default" loading={contact.isPending} onClick={() => contact.mutate()}>
            Check now
          </Button>
          <Button
            disabled={mirror.isBusy || !mirror.isAllowed}
            onClick={() => mirror.start({ packs: true, sources: true })}
          >
            Mirror all
          </Button>
        </>
      }
    >
      <div className={classes.facts}>
        {contact.error && <ErrorNote error={contact.error} />}
        <PeerState peer={peer} />
        <MirrorOutcome mirror={mirror} />
        <PinnedFacts peer={peer} />
        {mirror.isAllowed && <PeerSwitches peer={peer} />}
        <p className="muted">
          Below is what the peer shows now. It is verified when it is mirrored, and not before.
        </p>
      </div>
      <PeerPacks peer={peer} mirror={mirror} />
      <PeerEvents peer={peer} mirror={mirror} />
    </Page>
  );
}
