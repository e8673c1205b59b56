import { failureWords } from '../../../../shared/collection/failureWords.ts';
import { LazyTooltip } from '../../components/feedback/LazyTooltip.tsx';
import { countOf } from '../../format/size.ts';
import classes from './CheckStrip.module.css';

/** The last checks as bars, oldest on the left. Full bars succeeded, short bars failed. */
export function CheckStrip({ checks }: { checks: readonly (string | null)[] }) {
  if (checks.length === 0) return null;
  const bars = checks.map((error, index) => ({ error, key: index }));
  return (
    <LazyTooltip label={summaryOf(checks)} maxWidth={300}>
      {(trigger) => (
        <span {...trigger} className={classes.strip}>
          {bars.map(({ error, key }) => (
            <span key={key} className={classes.bar} data-failed={error !== null || undefined} aria-hidden />
          ))}
          <span className="visually-hidden">{summaryOf(checks)}</span>
        </span>
      )}
    </LazyTooltip>
  );
}

function summaryOf(checks: readonly (string | null)[]): string {
  const failures = checks.filter((error) => error !== null);
  const last = failures.at(-1);
  const which = checks.length === 1 ? 'The last check' : `Of the last ${countOf(checks.length, 'check')}`;
  if (last === undefined) return checks.length === 1 ? `${which} succeeded` : `${which}, all succeeded`;
  if (checks.length === 1) return `${which} failed: ${failureWords(last, null)}`;
  return `${which}, ${failures.length} failed; the last failure: ${failureWords(last, null)}`;
}
