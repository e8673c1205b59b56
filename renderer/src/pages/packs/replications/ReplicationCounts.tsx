import type { Pack } from '../../../../../shared/archive/pack.ts';
import { VERDICTS } from '../../../../../shared/archive/vocabulary.ts';
import { STATES } from '../../../components/data/states/states.ts';
import classes from './ReplicationCounts.module.css';

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
    <span className={classes.counts}>
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
