import { Button, Loader } from '@mantine/core';
import { Link } from 'react-router';
import type { NearbyNode } from '../../../../../shared/node/peer.ts';
import { useCall } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { Section } from '../../../components/layout/Section.tsx';
import classes from './Peers.module.css';

/** The network is asked while this page is open. Each question takes one and a half seconds. */
const LOOK_AGAIN_MS = 10_000;

/** The nodes that announce themselves on the local network. */
export function Nearby({ onAdd }: { onAdd: (node: NearbyNode) => void }) {
  const answer = useCall('listNearbyNodes', {}, { refetchInterval: LOOK_AGAIN_MS });
  const nodes = answer.data?.items ?? [];
  return (
    <Section title="Nearby nodes">
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.isLoading && (
        <p className={`${classes.looking} muted`}>
          <Loader size="xs" aria-hidden />
          Looking for nodes on this network…
        </p>
      )}
      {answer.isSuccess && nodes.length === 0 && (
        <p className="muted">
          No other node on this network announces itself. A node does so while it is shared. Some networks do
          not carry such announcements: then add the node by its address.
        </p>
      )}
      {nodes.length > 0 && (
        <ul className={classes.nearby}>
          {nodes.map((node) => (
            <li key={`${node.url} ${node.key}`}>
              <div>
                <strong className="wrap-anywhere">{node.name}</strong>
                <p className="muted small wrap-anywhere">{node.url}</p>
              </div>
              {node.peer ? (
                <Link to={`/sharing/peers/${node.peer}`}>Is a peer</Link>
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
