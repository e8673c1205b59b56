import { Button } from '@mantine/core';
import { IconRepeat } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import type { Pack } from '../../../../../shared/archive/pack.ts';
import { useCall } from '../../../api/useCall.ts';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { Section } from '../../../components/layout/Section.tsx';
import { authorsLine } from '../../../format/authors.ts';
import { countOf } from '../../../format/size.ts';
import { useMayContribute } from '../../../state/session.ts';
import classes from './PackReplications.module.css';

const FIRST_SHOWN = 8;

/** The replications of a pack. What it replicates itself stands at the top of its page. */
export function PackReplications({ pack }: { pack: Pack }) {
  const mayContribute = useMayContribute();
  const { replications } = pack;
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
            Add replication
          </Button>
        )
      }
    >
      {replications.length > 0 ? (
        <div className={classes.frame}>
          <div className={classes.graph}>
            <div className={classes.self} aria-hidden>
              This pack
            </div>
            <ReplicatedBy pack={pack} />
          </div>
        </div>
      ) : (
        <p className="muted">No replications have been published on this node.</p>
      )}
    </Section>
  );
}

function ReplicatedBy({ pack }: { pack: Pack }) {
  const [isAll, setIsAll] = useState(false);
  // One request for all titles instead of one per pack.
  const packs = useCall('listPacks', { query: { replicates: pack.id, limit: 500, sort: 'received' } });
  const known = new Map(packs.data?.items.map((item) => [item.id, item]));
  const { replications } = pack;
  const shown = isAll ? replications : replications.slice(0, FIRST_SHOWN);
  return (
    <div className={classes.right}>
      <ul className={classes.replications} aria-label="Replicated by">
        {shown.map(({ pack: id, verdict }) => {
          const replication = known.get(id);
          return (
            <li key={id}>
              <StateBadge kind="verdict" value={verdict} look="boxed" />
              <span className={classes.words}>
                <Link to={`/packs/${id}`}>{replication?.title ?? <span className="mono">{id}</span>}</Link>
                {replication && <span className="muted small">{authorsLine(replication.authors)}</span>}
              </span>
            </li>
          );
        })}
      </ul>
      {shown.length < replications.length && (
        <Button variant="subtle" size="compact-sm" onClick={() => setIsAll(true)}>
          Show all {countOf(replications.length, 'replication')}
        </Button>
      )}
    </div>
  );
}
