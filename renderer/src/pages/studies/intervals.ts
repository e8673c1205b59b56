import type { StudyTable } from '../../../../shared/archive/study.ts';

type Columns = StudyTable['columns'];
type Row = StudyTable['rows'][number];

/** Where the interval of an estimate is found among the columns of a table. */
export type IntervalColumns =
  | { kind: 'bounds'; low: number; high: number; level: string | undefined }
  | { kind: 'standard error'; error: number };

export interface Interval {
  low: number;
  high: number;
}

type Bound = 'low' | 'high' | 'error';

const BOUNDS: Readonly<Record<string, Bound>> = {
  low: 'low',
  lower: 'low',
  lo: 'low',
  lb: 'low',
  lcl: 'low',
  lci: 'low',
  high: 'high',
  higher: 'high',
  hi: 'high',
  upper: 'high',
  up: 'high',
  ub: 'high',
  ucl: 'high',
  uci: 'high',
  se: 'error',
  sem: 'error',
  stderr: 'error',
};
/** Words that are ignored next to `low`, `high` and other names of bounds, as in `effect_ci95_low` and `effect_lower_bound`. */
const BESIDE_BOUND = /^(ci|cl|cri|hdi|conf|confidence|interval|limit|bound)$/;
const LEVEL = /^(50|68|80|89|90|95|99)$/;

/** A name such as `effect_ci95_low`, taken apart. */
interface BoundName {
  /** The name of the estimate, `effect`; empty for a name such as `ci_low`. */
  estimate: string;
  bound: Bound;
  /** The confidence level in percent, if the name says it. */
  level: string | undefined;
}

/**
 * Finds the columns that hold the confidence interval or the standard error of a numeric result by their names, for
 * example `effect_ci_low` and `effect_ci_high`, `effect_lower` and `effect_upper`, `effect_ci95_lo` and `effect_ci95_hi`,
 * or `effect_se`. Names without an estimate, such as `ci_low`, belong to the numeric result that stands before them.
 *
 * @param from the index of the first result; the columns before it are the fixed ones of every table
 */
export function intervalColumns(columns: Columns, estimate: number, from = 0): IntervalColumns | undefined {
  const numeric = columns.flatMap(({ name, type }, index) =>
    index >= from && type === 'number' ? [{ index, words: wordsOf(name), bound: readBound(name) }] : [],
  );
  const wanted = numeric.find(({ index }) => index === estimate);
  if (!wanted) return undefined;
  const own = wanted.words.join(' ');
  const bounds = numeric.filter(
    ({ index, bound }) =>
      bound &&
      index !== estimate &&
      (bound.estimate === '' ? standsBefore(numeric, index) === estimate : bound.estimate === own),
  );
  const named = (which: Bound) => bounds.find(({ bound }) => bound?.bound === which);
  const low = named('low');
  const high = named('high');
  if (low && high) {
    return { kind: 'bounds', low: low.index, high: high.index, level: low.bound?.level ?? high.bound?.level };
  }
  const error = named('error');
  return error && { kind: 'standard error', error: error.index };
}

/** The normal quantile of a two-sided 95 % interval. */
const Z_95 = 1.96;

/** The interval of one row; undefined if its numbers are missing or are not an interval. */
export function intervalOf(row: Row, estimate: number, columns: IntervalColumns): Interval | undefined {
  const value = row[estimate];
  if (typeof value !== 'number') return undefined;
  if (columns.kind === 'standard error') {
    const error = row[columns.error];
    if (typeof error !== 'number' || error < 0) return undefined;
    return { low: value - Z_95 * error, high: value + Z_95 * error };
  }
  const low = row[columns.low];
  const high = row[columns.high];
  return typeof low === 'number' && typeof high === 'number' && low <= high ? { low, high } : undefined;
}

/** Says in one sentence what the whiskers of a chart show. */
export function intervalText(columns: Columns, interval: IntervalColumns): string {
  const name = (index: number) => columns[index]?.name ?? '';
  if (interval.kind === 'standard error') {
    return `Whiskers: 95 % confidence interval, computed as ± ${Z_95} × ${name(interval.error)}.`;
  }
  const level = interval.level === undefined ? '' : `${interval.level} % interval, `;
  return `Whiskers: ${level}from ${name(interval.low)} to ${name(interval.high)}.`;
}

/** The numeric result before a column that is not itself a bound. */
function standsBefore(
  numeric: readonly { index: number; bound: BoundName | undefined }[],
  index: number,
): number | undefined {
  return numeric.filter((column) => column.index < index && !column.bound).at(-1)?.index;
}

function readBound(name: string): BoundName | undefined {
  const words = wordsOf(name);
  return boundAtEnd(words) ?? boundAtEnd(words.toReversed(), true);
}

/** Takes the words of an interval from the end of a name. What is left is the estimate. */
function boundAtEnd(words: readonly string[], isReversed = false): BoundName | undefined {
  const rest = [...words];
  let bound: Bound | undefined;
  let level: string | undefined;
  for (let word = rest.at(-1); word !== undefined; word = rest.at(-1)) {
    const own = Object.hasOwn(BOUNDS, word) ? BOUNDS[word] : undefined;
    if (own && bound) break;
    if (own) bound = own;
    else if (LEVEL.test(word)) level = word;
    else if (!BESIDE_BOUND.test(word)) break;
    rest.pop();
  }
  if (!bound) return undefined;
  return { estimate: (isReversed ? rest.reverse() : rest).join(' '), bound, level };
}

/** The lower-case words of a name: `effectCI95Low` and `effect_ci_95_low` have the same. */
function wordsOf(name: string): string[] {
  return name
    .replace(/standard[ _.-]?error|std[ _.-]?err(or)?/gi, 'stderr')
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{L})(\d)/gu, '$1 $2')
    .replace(/(\d)(\p{L})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}
