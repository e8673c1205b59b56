import { Button, Group, Loader, Switch } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconLink, IconPlus } from '@tabler/icons-react';
import { useEffect, useEffectEvent, useState } from 'react';
import { Link, useLocation, useNavigate } from 'react-router';
import {
  type MirrorRequest,
  type NearbyNode,
  type Peer,
  type PeerLink,
  parsePeerLink,
} from '../../../../../shared/node/peer.ts';
import type { SharingMode } from '../../../../../shared/node/settings.ts';
import { useCall, useSave } from '../../../api/useCall.ts';
import { EmptyState, ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { IconButton, ItemButton, RemoveItemButton } from '../../../components/forms/buttons.tsx';
import { FormDialog, Question } from '../../../components/forms/DialogForm.tsx';
import { Section } from '../../../components/layout/Page.tsx';
import { useReloadAfterJobs } from '../../../state/jobs.ts';
import { AddPeerForm, OwnLink } from './AddPeer.tsx';
import { MirrorOutcome, PeerStateNote, PeerSwitches, PinnedFacts, useMirror } from './peerParts.tsx';

const SHOWN = 100;
const MIRROR_JOBS = ['mirror'] as const;

/** Other nodes: those on this network, and those from which packs and observations are taken. */
export function Peers({ mode }: { mode: SharingMode }) {
  const answer = useCall('listPeers', { query: { limit: SHOWN } });
  const [isAdding, adding] = useDisclosure();
  const [isLinkShown, link] = useDisclosure();
  const [chosen, choose] = useState<NearbyNode>();
  const [opened, open] = useState<PeerLink>();
  useReloadAfterJobs(MIRROR_JOBS, 'mirrorPeer');
  useOpenedLink((peer) => {
    open(peer);
    choose(undefined);
    adding.open();
  });
  const add = (node?: NearbyNode) => {
    open(undefined);
    choose(node);
    adding.open();
  };
  const buttons = (
    <Group gap="sm">
      <IconButton icon={IconPlus} onClick={() => add()}>
        Add a peer
      </IconButton>
      <IconButton icon={IconLink} onClick={link.open}>
        Link of this node
      </IconButton>
    </Group>
  );
  return (
    <>
      <Nearby onAdd={add} />
      <Section title="Peers">
        {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
        {answer.data?.items.length === 0 && (
          <EmptyState title="No peers yet" action={buttons}>
            Mirror packs and observations from another node. Its signed ledger, every record and every byte
            are verified before anything is kept.
          </EmptyState>
        )}
        {answer.data && answer.data.items.length > 0 && (
          <>
            <ul className="plain mb-4 stack gap-4">
              {answer.data.items.map((peer) => (
                <PeerItem key={peer.id} peer={peer} />
              ))}
            </ul>
            {buttons}
            <RepairSwitch />
          </>
        )}
        <FormDialog opened={isAdding} onClose={adding.close} title="Add a peer" size="lg">
          <AddPeerForm node={chosen} link={opened} />
        </FormDialog>
        <OwnLink mode={mode} opened={isLinkShown} onClose={link.close} />
      </Section>
    </>
  );
}

const OPENED_LINK = 'add-peer';

/** Takes the link of a peer with which the app was opened. It fills in the form; nothing is added before that is sent. */
function useOpenedLink(take: (link: PeerLink) => void): void {
  const { hash } = useLocation();
  const navigate = useNavigate();
  const latest = useEffectEvent(take);
  useEffect(() => {
    const address = new URLSearchParams(hash.slice(1)).get(OPENED_LINK);
    if (address === null) return;
    void navigate('/sharing', { replace: true });
    const link = parsePeerLink(address);
    if (link) latest(link);
  }, [hash, navigate]);
}

function RepairSwitch() {
  const settings = useCall('readSettings', {});
  const change = useSave('changeSettings', (repair_from_peers: boolean) => ({ body: { repair_from_peers } }));
  if (!settings.data) return null;
  return (
    <>
      <Switch
        mt="md"
        label="Repair from peers"
        description="When an integrity check finds a damaged or missing object, fetch it from a peer that has it."
        checked={change.isPending ? change.variables : settings.data.repair_from_peers}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.currentTarget.checked)}
      />
      {change.error && <ErrorNote error={change.error} />}
    </>
  );
}

/** A peer in the list: its state, what is pinned, and what can be done with it. */
function PeerItem({ peer }: { peer: Peer }) {
  const [isRemoving, removing] = useDisclosure();
  const mirror = useMirror(peer);
  const contact = useSave('contactPeer', () => ({ params: { id: peer.id } }));
  const take = (label: string, body: MirrorRequest) => (
    <ItemButton
      label={label}
      of={peer.name}
      disabled={mirror.isBusy || !mirror.isAllowed}
      onClick={() => mirror.start(body)}
    />
  );
  return (
    <li className="card stack gap-2">
      <div>
        <h3>
          <Link to={`/sharing/peers/${peer.id}`}>{peer.name}</Link>
        </h3>
        <p className="muted small wrap-anywhere">{peer.url}</p>
      </div>
      <PeerStateNote peer={peer} />
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

/** Asks before a peer is forgotten. */
function RemovePeer({ peer, onClose }: { peer: Peer; onClose: () => void }) {
  const remove = useSave('removePeer', () => ({ params: { id: peer.id } }), { onSaved: onClose });
  return (
    <Question title="Remove this peer?" answer="Remove peer" save={remove} onClose={onClose}>
      This node will no longer mirror {peer.name}, cosign its checkpoints or ask it for cosignatures. The
      pinned key is forgotten. Everything already mirrored stays.
    </Question>
  );
}

/** The network is queried while this page is open. Each query takes one and a half seconds. */
const POLL_INTERVAL_MS = 10_000;

/** The nodes that announce themselves on the local network. */
function Nearby({ onAdd }: { onAdd: (node: NearbyNode) => void }) {
  const answer = useCall('listNearbyNodes', {}, { refetchInterval: POLL_INTERVAL_MS });
  const nodes = answer.data?.items ?? [];
  return (
    <Section title="Nearby nodes">
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.isLoading && (
        <Group gap="xs" c="dimmed">
          <Loader size="xs" aria-hidden />
          Looking for nodes on this network…
        </Group>
      )}
      {answer.isSuccess && nodes.length === 0 && (
        <p className="muted">
          No other node is visible on this network. A node announces itself while it is shared. Some networks
          block these announcements; add the node by its address instead.
        </p>
      )}
      {nodes.length > 0 && (
        <ul className="plain ruled">
          {nodes.map((node) => (
            <li key={`${node.url} ${node.key}`} className="cluster gap-4 between">
              <div>
                <strong className="wrap-anywhere">{node.name}</strong>
                <p className="muted small wrap-anywhere">{node.url}</p>
              </div>
              {node.peer ? (
                <Link to={`/sharing/peers/${node.peer}`}>Already a peer</Link>
              ) : (
                <Button
                  variant="default"
                  size="compact-sm"
                  aria-label={`Add: ${node.name}`}
                  onClick={() => onAdd(node)}
                >
                  Add
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
