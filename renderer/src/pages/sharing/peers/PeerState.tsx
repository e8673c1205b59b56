import { Alert, Button } from '@mantine/core';
import { IconAlertOctagon, IconCertificateOff } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { Peer } from '../../../../../shared/node/peer.ts';
import { call } from '../../../api/client.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import classes from './Peers.module.css';
import { PEER_STATES } from './peerTexts.ts';
import { useReloadPeers } from './useReloadPeers.ts';

/** The state of a peer. A rewritten ledger and another certificate are shown as alerts. */
export function PeerState({ peer }: { peer: Peer }) {
  const { label, Icon, health } = PEER_STATES[peer.state];
  if (peer.state === 'certificate_changed') return <OtherCertificate peer={peer} title={label} />;
  if (peer.state === 'rewritten')
    return (
      <Alert color="red" icon={<IconAlertOctagon aria-hidden />} title={label} role="alert">
        <p>{peer.last_error}</p>
        <a href={`/manage/peers/${peer.id}/evidence`} target="_blank" rel="noopener noreferrer">
          Both checkpoints, as evidence
        </a>
      </Alert>
    );
  return (
    <p className={classes.state} data-health={health}>
      <Icon size={17} aria-hidden />
      <span>
        {label}
        {peer.last_error && ` ${peer.last_error}`}
      </span>
    </p>
  );
}

/** Shows both fingerprints, so that the owner can compare them before accepting the new certificate. */
function OtherCertificate({ peer, title }: { peer: Peer; title: string }) {
  const reload = useReloadPeers();
  const seen = peer.tls_fingerprint_seen ?? undefined;
  const accept = useMutation({
    mutationFn: () => call('changePeer', { params: { id: peer.id }, body: { tls_fingerprint: seen } }),
    onSettled: reload,
  });
  return (
    <Alert color="red" icon={<IconCertificateOff aria-hidden />} title={title} role="alert">
      <p>
        Nothing is read from it. Someone may stand between this node and the peer, or its owner has a new
        certificate. Ask the owner for the fingerprint, and accept it only if it is the new one.
      </p>
      <dl className={classes.fingerprints}>
        <dt>Pinned</dt>
        <dd className="mono">{peer.tls_fingerprint}</dd>
        <dt>New</dt>
        <dd className="mono">{seen}</dd>
      </dl>
      {accept.error && <ErrorNote error={accept.error} />}
      <Button variant="default" size="compact-sm" loading={accept.isPending} onClick={() => accept.mutate()}>
        Accept the new certificate
      </Button>
    </Alert>
  );
}
