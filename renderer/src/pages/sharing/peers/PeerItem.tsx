import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { MirrorRequest, Peer } from '../../../../../shared/node/peer.ts';
import { call } from '../../../api/client.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { ItemButton, RemoveItemButton } from '../../../components/forms/ItemButton.tsx';
import { MirrorOutcome } from './MirrorOutcome.tsx';
import { PeerState } from './PeerState.tsx';
import { PeerSwitches } from './PeerSwitches.tsx';
import classes from './Peers.module.css';
import { PinnedFacts } from './PinnedFacts.tsx';
import { RemovePeer } from './RemovePeer.tsx';
import { useMirror } from './useMirror.ts';
import { useReloadPeers } from './useReloadPeers.ts';

/** A peer in the list: its state, what is pinned, and what can be done with it. */
export function PeerItem({ peer }: { peer: Peer }) {
  const reload = useReloadPeers();
  const [isRemoving, removing] = useDisclosure();
  const mirror = useMirror(peer);
  const contact = useMutation({
    mutationFn: () => call('contactPeer', { params: { id: peer.id } }),
    onSettled: reload,
  });
  const take = (label: string, body: MirrorRequest) => (
    <ItemButton
      label={label}
      of={peer.name}
      disabled={mirror.isBusy || !mirror.isAllowed}
      onClick={() => mirror.start(body)}
    />
  );
  return (
    <li>
      <div>
        <h3 className={classes.name}>
          <Link to={`/sharing/peers/${peer.id}`}>{peer.name}</Link>
        </h3>
        <p className="muted small wrap-anywhere">{peer.url}</p>
      </div>
      <PeerState peer={peer} />
      <PinnedFacts peer={peer} />
      <Group gap="xs">
        <Button
          component={Link}
          to={`/sharing/peers/${peer.id}`}
          variant="default"
          size="compact-sm"
          aria-label={`Browse: ${peer.name}`}
        >
          Browse
        </Button>
        {take('Mirror all', { packs: true, sources: true })}
        {take('Packs only', { packs: true })}
        {take('Sources only', { sources: true })}
        <ItemButton
          label="Check now"
          of={peer.name}
          loading={contact.isPending}
          onClick={() => contact.mutate()}
        />
        <RemoveItemButton of={peer.name} onClick={removing.open} />
      </Group>
      {mirror.isAllowed && <PeerSwitches peer={peer} />}
      {contact.error && <ErrorNote error={contact.error} />}
      <MirrorOutcome mirror={mirror} />
      {isRemoving && <RemovePeer peer={peer} onClose={removing.close} />}
    </li>
  );
}
