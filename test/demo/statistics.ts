import type { Outcome, Verdict } from '../../shared/archive/vocabulary.ts';

/** The 97.5th percentile of the standard normal distribution, for 95 % intervals. */
const Z = 1.959964;

export interface Interval {
  low: number;
  high: number;
}
export type Points = readonly (readonly [x: number, y: number])[];

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}

/** Sums of squares and products around the means. */
function deviations(points: Points): { sxx: number; syy: number; sxy: number; mx: number; my: number } {
  const mx = mean(points.map(([x]) => x));
  const my = mean(points.map(([, y]) => y));
  let [sxx, syy, sxy] = [0, 0, 0];
  for (const [x, y] of points) {
    sxx += (x - mx) ** 2;
    syy += (y - my) ** 2;
    sxy += (x - mx) * (y - my);
  }
  return { sxx, syy, sxy, mx, my };
}

/** Pearson's correlation, with an interval by Fisher's transformation. */
export function pearson(points: Points): { r: number } & Interval {
  const { sxx, syy, sxy } = deviations(points);
  const r = sxy / Math.sqrt(sxx * syy);
  return { r, ...fisherInterval(r, 1 / Math.sqrt(points.length - 3)) };
}

/** Spearman's rank correlation, with an interval by Fisher's transformation and the error of Fieller et al. (1957). */
export function spearman(points: Points): { rho: number } & Interval {
  const xs = ranks(points.map(([x]) => x));
  const ys = ranks(points.map(([, y]) => y));
  const { r: rho } = pearson(xs.map((x, index) => [x, ys[index] ?? 0]));
  return { rho, ...fisherInterval(rho, Math.sqrt(1.06 / (points.length - 3))) };
}

function fisherInterval(r: number, error: number): Interval {
  return { low: Math.tanh(Math.atanh(r) - Z * error), high: Math.tanh(Math.atanh(r) + Z * error) };
}

/** Ranks from 1; equal values share the mean of their ranks. */
function ranks(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return values.map((value) => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2 + 1);
}

/** The least-squares line, with the interval of its slope from the standard error. */
export function leastSquares(points: Points): { slope: number; intercept: number } & Interval {
  const { sxx, syy, sxy, mx, my } = deviations(points);
  const slope = sxy / sxx;
  const error = Math.sqrt((syy - slope * sxy) / (points.length - 2) / sxx);
  return { slope, intercept: my - slope * mx, low: slope - Z * error, high: slope + Z * error };
}

/** The median of the slopes between all pairs of points (Theil 1950, Sen 1968). */
export function theilSen(points: Points): number {
  const slopes = points.flatMap(([x1, y1], index) =>
    points.slice(index + 1).flatMap(([x2, y2]) => (x1 === x2 ? [] : [(y2 - y1) / (x2 - x1)])),
  );
  return median(slopes);
}

/** The difference of two proportions, with the interval of the normal approximation. */
export function proportionDifference(
  first: { count: number; of: number },
  second: { count: number; of: number },
): { difference: number } & Interval {
  const [p, q] = [first.count / first.of, second.count / second.of];
  const error = Math.sqrt((p * (1 - p)) / first.of + (q * (1 - q)) / second.of);
  return { difference: p - q, low: p - q - Z * error, high: p - q + Z * error };
}

/** The difference of two means, with the interval of Welch's standard error. */
export function meanDifference(
  first: readonly number[],
  second: readonly number[],
): { difference: number } & Interval {
  const difference = mean(first) - mean(second);
  const error = Math.sqrt(varianceOf(first) / first.length + varianceOf(second) / second.length);
  return { difference, low: difference - Z * error, high: difference + Z * error };
}

function varianceOf(values: readonly number[]): number {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

/** The Gutenberg–Richter b-value by maximum likelihood (Aki 1965), with the standard error b/√n. */
export function akiB(magnitudes: readonly number[], lowest: number): { b: number } & Interval {
  const b = Math.LOG10E / (mean(magnitudes) - lowest);
  const error = b / Math.sqrt(magnitudes.length);
  return { b, low: b - Z * error, high: b + Z * error };
}

/** The outcome of a pack by its interval, for the hypothesis that the true value is above zero. */
export function outcomeOf({ low, high }: Interval): Outcome {
  if (low > 0) return 'positive';
  return high < 0 ? 'negative' : 'null';
}

/** The verdict of a replication: whether its interval and the original's value are on the same side of zero. */
export function verdictOf(original: number, found: number, { low, high }: Interval): Verdict {
  if (original > 0 ? low > 0 : high < 0) return 'reproduced';
  return original > 0 === found > 0 ? 'partial' : 'failed';
}

/** Rounds a number for the record. */
export function rounded(value: number, digits = 4): number {
  return Number(value.toFixed(digits));
}
