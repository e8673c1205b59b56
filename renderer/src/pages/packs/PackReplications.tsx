import { Button } from '@mantine/core';
import { IconRepeat } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import type { Pack, ResultValue } from '../../../../shared/archive/pack.ts';
import { VERDICTS } from '../../../../shared/archive/vocabulary.ts';
import { useCall } from '../../api/useCall.ts';
import { STATES } from '../../components/data/states.ts';
import { StateBadge } from '../../components/data/Values.tsx';
import { IconLink } from '../../components/forms/buttons.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { authorsLine, countOf } from '../../format.ts';
import { useMayContribute } from '../../state/session.ts';
import { PackResults } from './PackFacts.tsx';
import { PackLink } from './PackHeader.tsx';
import classes from './packs.module.css';

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
          <IconLink icon={IconRepeat} to={`/assemble?replicates=${pack.id}`}>
            Add replication
          </IconLink>
        )
      }
    >
      {replications.length > 0 ? (
        <div className="container">
          <div className={`${classes.graph} line`}>
            <div className="hint rigid serif strong accent" aria-hidden>
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
      <ul className={`${classes.replications} relative plain`} aria-label="Replicated by">
        {shown.map(({ pack: id, verdict }) => {
          const replication = known.get(id);
          return (
            <li key={id}>
              <StateBadge kind="verdict" value={verdict} look="boxed" />
              <span className="cluster gap-3 baseline wrap-anywhere">
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

/** The number of replications by verdict, each as an icon and a number. */
export function ReplicationCounts({ evidence }: { evidence: Pack['evidence'] }) {
  const present = VERDICTS.filter((verdict) => evidence[verdict] > 0);
  if (present.length === 0) {
    return (
      <span className="muted">
        <span aria-hidden>–</span>
        <span className="visually-hidden">none</span>
      </span>
    );
  }
  return (
    <span className={`${classes.counts} line inline gap-3 stretch`}>
      {present.map((verdict) => {
        const { icon: Icon, tone, label } = STATES.verdict[verdict];
        return (
          <span key={verdict} data-tone={tone} title={`${evidence[verdict]} ${label}`}>
            <Icon size={15} stroke={1.9} aria-hidden />
            <span className="numeric">{evidence[verdict]}</span>
            <span className="visually-hidden">{label}</span>
          </span>
        );
      })}
    </span>
  );
}

/** At the top of a replication: its verdict on the original, and why. */
export function ReplicationVerdict({ pack }: { pack: Pack }) {
  const { replicates } = pack;
  const original = useCall(
    'readPack',
    { params: { id: replicates?.pack ?? '' } },
    { enabled: replicates !== null },
  );
  if (!replicates) return null;
  return (
    <section aria-label="Verdict" className="card mb-5 stack gap-2">
      <p className="cluster gap-3">
        <StateBadge kind="verdict" value={replicates.verdict} look="boxed" />
        <span className="wrap-anywhere">
          Replication of <PackLink id={replicates.pack} />
          {original.data && <span className="muted"> by {authorsLine(original.data.authors)}</span>}
        </span>
      </p>
      {replicates.note && <p className="wrap-anywhere">{replicates.note}</p>}
      {pack.original_had_method === false && (
        <p className="muted small">The original had no complete method when this pack was received.</p>
      )}
    </section>
  );
}

/** The results of a replication beside those of its original, by name. */
export function ComparedResults({ pack, original: id }: { pack: Pack; original: string }) {
  const original = useCall('readPack', { params: { id } });
  if (!original.data) return <PackResults results={pack.results} />;
  const theirs = original.data.results;
  const names = [...new Set([...Object.keys(theirs), ...Object.keys(pack.results)])];
  return (
    <div className="scroll">
      <table className={`${classes.replicationResults} full compact`}>
        <caption className="visually-hidden">Results of the original and of this pack</caption>
        <thead>
          <tr>
            <th scope="col">Result</th>
            <th scope="col">Original</th>
            <th scope="col">This pack</th>
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => {
            const [left, right] = [valueIn(theirs, name), valueIn(pack.results, name)];
            return (
              <tr key={name}>
                <th scope="row">{name}</th>
                <Value value={left} />
                <Value value={right} />
                <td data-type="number">{differenceText(left, right)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function valueIn(results: Pack['results'], name: string): ResultValue | undefined {
  return Object.hasOwn(results, name) ? results[name] : undefined;
}

function Value({ value }: { value: ResultValue | undefined }) {
  return (
    <td data-type={typeof value}>
      {value === undefined ? (
        <span className="muted">
          <span aria-hidden>–</span>
          <span className="visually-hidden">not reported</span>
        </span>
      ) : value === null ? (
        <em className="muted">null</em>
      ) : (
        String(value)
      )}
    </td>
  );
}

/** The difference of two numbers; for other values whether they are the same. */
function differenceText(left: ResultValue | undefined, right: ResultValue | undefined): string {
  if (left === undefined || right === undefined) return '';
  if (left === right) return 'same';
  if (typeof left !== 'number' || typeof right !== 'number') return 'differs';
  // Subtraction of decimals leaves digits that neither number has, as in 0.3 − 0.1.
  const difference = Number((right - left).toPrecision(6));
  const sign = difference > 0 ? '+' : '−';
  const share = left === 0 ? '' : ` (${sign}${Number(Math.abs((difference / left) * 100).toPrecision(2))} %)`;
  return `${sign}${Math.abs(difference)}${share}`;
}
