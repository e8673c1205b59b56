import { describe, expect, test } from 'vitest';
import { intervalColumns, intervalOf, intervalText } from '../../renderer/src/pages/studies/intervals.ts';

function columnsOf(...names: string[]) {
  return names.map((name) => ({ name, type: 'number' as const }));
}

describe('the columns of an interval are recognised by their names', () => {
  test.each([
    ['effect_ci_low', 'effect_ci_high'],
    ['effect_ci_lower', 'effect_ci_upper'],
    ['effect_lower', 'effect_upper'],
    ['effect_lo', 'effect_hi'],
    ['effect_ci95_low', 'effect_ci95_high'],
    ['effect_low_95', 'effect_high_95'],
    ['effect_lcl', 'effect_ucl'],
    ['effect_lower_ci', 'effect_upper_ci'],
    ['effect lower bound', 'effect upper bound'],
    ['Effect.CI.Lower', 'Effect.CI.Upper'],
    ['effectCiLow', 'effectCiHigh'],
    ['ci_low_effect', 'ci_high_effect'],
    ['lower_effect', 'upper_effect'],
    ['ci_low', 'ci_high'],
    ['ci95_low', 'ci95_high'],
    ['lower', 'upper'],
  ])('%s and %s', (low, high) => {
    const columns = columnsOf('n', 'effect', low, high, 'p');
    expect(intervalColumns(columns, 1)).toMatchObject({ kind: 'bounds', low: 2, high: 3 });
    expect(intervalColumns(columns, 0)).toBeUndefined();
    expect(intervalColumns(columns, 4)).toBeUndefined();
  });

  test.each([
    'effect_se',
    'effect_sem',
    'effect_stderr',
    'effect_std_err',
    'SE effect',
    'effect_standard_error',
  ])('%s', (error) => {
    expect(intervalColumns(columnsOf('effect', error), 0)).toEqual({ kind: 'standard error', error: 1 });
  });

  test('each of several estimates has its own interval', () => {
    const columns = columnsOf('a', 'b', 'a_low', 'b_low', 'a_high', 'b_high', 'b_se');
    expect(intervalColumns(columns, 0)).toMatchObject({ low: 2, high: 4 });
    expect(intervalColumns(columns, 1)).toMatchObject({ low: 3, high: 5 });
  });

  test('a name without an estimate belongs to the number before it', () => {
    const columns = columnsOf('n', 'effect', 'ci_low', 'ci_high', 'age', 'se');
    expect(intervalColumns(columns, 1)).toMatchObject({ low: 2, high: 3 });
    expect(intervalColumns(columns, 4)).toEqual({ kind: 'standard error', error: 5 });
  });

  test('one bound alone, a text, and words that only contain a bound are no interval', () => {
    expect(intervalColumns(columnsOf('effect', 'effect_low'), 0)).toBeUndefined();
    expect(intervalColumns(columnsOf('effect', 'effect_slow', 'effect_thigh'), 0)).toBeUndefined();
    expect(intervalColumns(columnsOf('effect', 'effects_low', 'effects_high'), 0)).toBeUndefined();
    const texts = [
      { name: 'effect', type: 'number' as const },
      { name: 'effect_low', type: 'string' as const },
      { name: 'effect_high', type: 'number' as const },
    ];
    expect(intervalColumns(texts, 0)).toBeUndefined();
  });

  test('the fixed columns of the table are never bounds', () => {
    expect(intervalColumns(columnsOf('low', 'high', 'effect'), 2, 2)).toBeUndefined();
  });
});

test('the interval of a row is what its bounds say, or 1.96 standard errors around the value', () => {
  const bounds = { kind: 'bounds', low: 1, high: 2, level: undefined } as const;
  expect(intervalOf([3, 2, 5], 0, bounds)).toEqual({ low: 2, high: 5 });
  expect(intervalOf([3, 5, 2], 0, bounds)).toBeUndefined();
  expect(intervalOf([3, null, 5], 0, bounds)).toBeUndefined();
  expect(intervalOf([null, 2, 5], 0, bounds)).toBeUndefined();
  const error = { kind: 'standard error', error: 1 } as const;
  expect(intervalOf([3, 0.5], 0, error)).toEqual({ low: 3 - 0.98, high: 3 + 0.98 });
  expect(intervalOf([3, -0.5], 0, error)).toBeUndefined();
});

test('a sentence says what the whiskers are', () => {
  const columns = columnsOf('effect', 'effect_ci95_low', 'effect_ci95_high', 'other', 'other_se');
  const textOf = (index: number) => intervalText(columns, intervalColumns(columns, index)!);
  expect(textOf(0)).toBe('Whiskers: 95 % interval, from effect_ci95_low to effect_ci95_high.');
  expect(textOf(3)).toBe('Whiskers: 95 % confidence interval, computed as ± 1.96 × other_se.');
});
