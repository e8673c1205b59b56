import { Switch } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { Peer, PeerChange } from '../../../../../shared/node/peer.ts';
import { call } from '../../../api/client.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import classes from './Peers.module.css';
import { useReloadPeers } from './useReloadPeers.ts';

const SWITCHES = [
  { field: 'follow', label: 'Mirror again every hour' },
  { field: 'cosign', label: 'Cosign its checkpoints' },
  { field: 'ask_to_cosign', label: 'Ask it to cosign ours' },
] as const;

/** What this node and the peer do for each other. A change applies at once. */
export function PeerSwitches({ peer }: { peer: Peer }) {
  const reload = useReloadPeers();
  const change = useMutation({
    mutationFn: (body: PeerChange) => call('changePeer', { params: { id: peer.id }, body }),
    onSettled: reload,
  });
  const isOffered = (field: string) => field !== 'follow' || peer.mirrored_at !== null;
  return (
    <>
      <div className={classes.switches}>
        {SWITCHES.filter(({ field }) => isOffered(field)).map(({ field, label }) => (
          <Switch
            key={field}
            label={label}
            aria-label={`${label}: ${peer.name}`}
            checked={change.isPending ? (change.variables[field] ?? peer[field]) : peer[field]}
            onChange={(event) => change.mutate({ [field]: event.currentTarget.checked })}
          />
        ))}
      </div>
      {change.error && <ErrorNote error={change.error} />}
    </>
  );
}
