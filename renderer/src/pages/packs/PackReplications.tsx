import { Button } from '@mantine/core';
import { IconRepeat } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { Pack } from '../../../../shared/pack.ts';
import { Section } from '../../components/Section.tsx';
import { StateBadge } from '../../components/StateBadge.tsx';
import { TimeText } from '../../components/TimeText.tsx';
import { useMayContribute } from '../../state/session.ts';
import { PackLink } from './PackLink.tsx';
import classes from './PackReplications.module.css';

/** Replications both ways, from left to right: what this pack replicates, this pack, and what replicates it. */
export function PackReplications({ pack }: { pack: Pack }) {
  const mayContribute = useMayContribute();
  const { replicates, replications } = pack;
  return (
    <Section
      title="Replications"
      actions={
        mayContribute && (
          <Button
            component={Link}
            to={`/assemble?replicates=${pack.id}`}
            variant="default"
            leftSection={<IconRepeat size={16} aria-hidden />}
          >
            Add a replication
          </Button>
        )
      }
    >
      {!replicates && replications.length === 0 && (
        <p className="muted">Nobody has published a replication of this pack here yet.</p>
      )}
      {(replicates || replications.length > 0) && (
        <div className={classes.graph}>
          {replicates && (
            <div className={classes.original}>
              <p className="muted small">Replicates</p>
              <PackLink id={replicates.pack} />
              <p>
                <StateBadge kind="verdict" value={replicates.verdict} look="boxed" />
              </p>
              {replicates.note && <p className="small">{replicates.note}</p>}
              {pack.original_had_method === false && (
                <p className="muted small">The original gave no complete method when this arrived.</p>
              )}
            </div>
          )}
          <div className={classes.self} aria-hidden>
            This pack
          </div>
          {replications.length > 0 && (
            <ul className={classes.replications} aria-label="Replicated by">
              {replications.map((replication) => (
                <li key={replication.pack}>
                  <StateBadge kind="verdict" value={replication.verdict} look="boxed" />
                  <PackLink id={replication.pack} />
                  <span className="muted small">
                    <TimeText at={replication.received_at} />
                  </span>
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Section>
  );
}
