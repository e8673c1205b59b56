import { Button, Group, Switch } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconLink, IconPlus } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { NearbyNode } from '../../../../../shared/node/peer.ts';
import type { SharingMode } from '../../../../../shared/node/settings.ts';
import { call } from '../../../api/client.ts';
import { callKey, useCall } from '../../../api/useCall.ts';
import { EmptyState } from '../../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { Section } from '../../../components/layout/Section.tsx';
import { useJobs } from '../../../state/jobs.ts';
import { AddPeer } from './AddPeer.tsx';
import { Nearby } from './Nearby.tsx';
import { OwnLink } from './OwnLink.tsx';
import { PeerItem } from './PeerItem.tsx';
import classes from './Peers.module.css';

const SHOWN = 100;

/** Other nodes: those on this network, and those from which packs and observations are taken. */
export function Peers({ mode }: { mode: SharingMode }) {
  const answer = useCall('listPeers', { query: { limit: SHOWN } });
  const [isAdding, adding] = useDisclosure();
  const [isLinkShown, link] = useDisclosure();
  const [chosen, choose] = useState<NearbyNode>();
  useReloadAfterMirrors();
  const add = (node?: NearbyNode) => {
    choose(node);
    adding.open();
  };
  const buttons = (
    <Group gap="sm">
      <Button variant="default" leftSection={<IconPlus size={16} aria-hidden />} onClick={() => add()}>
        Add a peer
      </Button>
      <Button variant="default" leftSection={<IconLink size={16} aria-hidden />} onClick={link.open}>
        Link of this node
      </Button>
    </Group>
  );
  return (
    <>
      <Nearby onAdd={add} />
      <Section title="Peers">
        {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
        {answer.data?.items.length === 0 && (
          <EmptyState title="No peers yet" action={buttons}>
            Packs and observations of another node can be mirrored here. Its signed ledger, each record and
            each byte are verified before anything is kept.
          </EmptyState>
        )}
        {answer.data && answer.data.items.length > 0 && (
          <>
            <ul className={classes.peers}>
              {answer.data.items.map((peer) => (
                <PeerItem key={peer.id} peer={peer} />
              ))}
            </ul>
            {buttons}
            <RepairSwitch />
          </>
        )}
        <AddPeer opened={isAdding} node={chosen} onClose={adding.close} />
        <OwnLink mode={mode} opened={isLinkShown} onClose={link.close} />
      </Section>
    </>
  );
}

/** Loads the peers again when a mirror ends, also one that runs on schedule. */
function useReloadAfterMirrors(): void {
  const queries = useQueryClient();
  const ended = useJobs(
    ({ node }) =>
      Object.values(node).filter(({ kind, state }) => kind === 'mirror' && state !== 'running').length,
  );
  useEffect(() => {
    if (ended > 0) void queries.invalidateQueries({ queryKey: callKey('listPeers') });
  }, [ended, queries]);
}

function RepairSwitch() {
  const queries = useQueryClient();
  const settings = useCall('readSettings', {});
  const change = useMutation({
    mutationFn: (repair_from_peers: boolean) => call('changeSettings', { body: { repair_from_peers } }),
    onSuccess: (next) => queries.setQueryData(callKey('readSettings', {}), next),
  });
  if (!settings.data) return null;
  return (
    <>
      <Switch
        className={classes.repair}
        label="Repair from peers"
        description="When an audit finds a damaged or missing object, fetch it from a peer that holds it."
        checked={settings.data.repair_from_peers}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.currentTarget.checked)}
      />
      {change.error && <ErrorNote error={change.error} />}
    </>
  );
}
