import type { ResultValue } from '../../../../shared/archive/pack.ts';
import classes from './PackResults.module.css';

/** Results as names and values. Numbers are shown with all their digits. */
export function PackResults({ results }: { results: Readonly<Record<string, ResultValue>> }) {
  return (
    <table className={classes.results}>
      <caption className="visually-hidden">Results</caption>
      <tbody>
        {Object.entries(results).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td data-type={typeof value}>
              {value === null ? <em className="muted">null</em> : String(value)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
