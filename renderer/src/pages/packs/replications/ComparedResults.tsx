import type { Pack, ResultValue } from '../../../../../shared/archive/pack.ts';
import { useCall } from '../../../api/useCall.ts';
import { PackResults } from '../PackResults.tsx';
import classes from './ComparedResults.module.css';

/** The results of a replication beside those of its original, by name. */
export function ComparedResults({ pack, original: id }: { pack: Pack; original: string }) {
  const original = useCall('readPack', { params: { id } });
  if (!original.data) return <PackResults results={pack.results} />;
  const theirs = original.data.results;
  const names = [...new Set([...Object.keys(theirs), ...Object.keys(pack.results)])];
  return (
    <div className={classes.frame}>
      <table className={classes.results}>
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
