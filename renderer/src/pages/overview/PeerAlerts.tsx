import { Alert } from '@mantine/core';
import { IconAlertOctagon } from '@tabler/icons-react';
import { Link } from 'react-router';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import type { Peer } from '../../../../shared/node/peer.ts';
import { useCall } from '../../api/useCall.ts';
import classes from './OverviewPage.module.css';

/** Alerts about peers that rewrote their ledger or show another certificate. Nothing if there are none. */
export function PeerAlerts() {
  const answer = useCall('listPeers', { query: { limit: MAX_LIST_LIMIT } });
  return answer.data?.items.flatMap((peer) => {
    const title = titleOf(peer);
    return title ? <PeerAlert key={peer.id} peer={peer} title={title} /> : [];
  });
}

function titleOf({ name, state }: Peer): string | undefined {
  if (state === 'rewritten') return `${name} rewrote its ledger`;
  if (state === 'certificate_changed') return `${name} shows another certificate`;
  return undefined;
}

function PeerAlert({ peer, title }: { peer: Peer; title: string }) {
  return (
    <Alert
      color="red"
      icon={<IconAlertOctagon aria-hidden />}
      title={title}
      role="alert"
      className={classes.alert}
    >
      {peer.last_error} <Link to={`/sharing/peers/${peer.id}`}>Open the peer</Link>
    </Alert>
  );
}
