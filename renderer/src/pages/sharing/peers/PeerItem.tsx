import { Alert, Button, Group, Switch } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlertOctagon } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Job } from '../../../../../shared/node/job.ts';
import { type MirrorRequest, mirrorResultSchema, type Peer } from '../../../../../shared/node/peer.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../../components/forms/CopyButton.tsx';
import { useFollowedJob } from '../../../state/useFollowedJob.ts';
import classes from './Peers.module.css';
import { mirrorSentence, PEER_STATES } from './peerTexts.ts';
import { RemovePeer } from './RemovePeer.tsx';

/** A peer: its key to compare, its state, and what can be taken from it. The job tray shows the progress. */
export function PeerItem({ peer }: { peer: Peer }) {
  const queries = useQueryClient();
  const params = { id: peer.id };
  const [isRemoving, removing] = useDisclosure();
  const reload = () => queries.invalidateQueries({ queryKey: callKey('listPeers') });
  const mirror = useMutation({
    mutationFn: async (body: MirrorRequest) => (await call('mirrorPeer', { params, body })) as Job,
  });
  const contact = useMutation({ mutationFn: () => call('contactPeer', { params }), onSettled: reload });
  const follow = useMutation({
    mutationFn: (isFollowed: boolean) => call('changePeer', { params, body: { follow: isFollowed } }),
    onSettled: reload,
  });
  const job = useFollowedJob(mirror.data?.id);
  const isBusy = mirror.isPending || job?.state === 'running';
  const taken = mirrorResultSchema.safeParse(job?.result).data;
  const isTrusted = peer.state !== 'rewritten' && peer.state !== 'key_changed';
  const take = (label: string, body: MirrorRequest) => (
    <Button
      variant="default"
      size="compact-sm"
      aria-label={`${label}: ${peer.name}`}
      disabled={isBusy || !isTrusted}
      onClick={() => mirror.mutate(body)}
    >
      {label}
    </Button>
  );
  return (
    <li>
      <div>
        <h3 className={classes.name}>{peer.name}</h3>
        <p className="muted small">{peer.url}</p>
      </div>
      <PeerState peer={peer} />
      <p className={`${classes.key} small`}>
        <span>
          Key: <span className="mono">{peer.key}</span>
        </span>
        <CopyButton text={peer.key} what="the key" />
      </p>
      <p className="muted small">
        Pinned <TimeText at={peer.pinned_at} />. Compare it with the key that the owner of that node reads
        aloud. Last mirrored: {peer.mirrored_at ? <TimeText at={peer.mirrored_at} /> : 'never'}.
      </p>
      <Group gap="xs">
        {take('Mirror all', { packs: true, sources: true })}
        {take('Packs only', { packs: true })}
        {take('Sources only', { sources: true })}
        <Button
          variant="default"
          size="compact-sm"
          aria-label={`Check now: ${peer.name}`}
          loading={contact.isPending}
          onClick={() => contact.mutate()}
        >
          Check now
        </Button>
        <Button
          variant="subtle"
          color="red"
          c="var(--bad)"
          size="compact-sm"
          aria-label={`Remove: ${peer.name}`}
          onClick={removing.open}
        >
          Remove
        </Button>
      </Group>
      {peer.mirrored_at && isTrusted && (
        <Switch
          label="Repeat every hour"
          aria-label={`Repeat every hour: ${peer.name}`}
          checked={peer.follow}
          onChange={(event) => follow.mutate(event.currentTarget.checked)}
        />
      )}
      {job?.state === 'failed' && job.error && <p className={classes.bad}>{job.error}</p>}
      {[mirror.error, contact.error, follow.error].map(
        // biome-ignore lint/suspicious/noArrayIndexKey: the three never change their order.
        (error, index) => error && <ErrorNote key={index} error={error} />,
      )}
      {taken && (
        <p className="small">
          <output>{mirrorSentence(taken)}</output>
        </p>
      )}
      {isRemoving && <RemovePeer peer={peer} onClose={removing.close} />}
    </li>
  );
}

function PeerState({ peer }: { peer: Peer }) {
  const { label, Icon, health } = PEER_STATES[peer.state];
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
