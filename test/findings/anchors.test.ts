import { expect, test } from 'vitest';
import { findWords } from '../../shared/findings/anchor.ts';
import { tallyOf } from './revisions.ts';

test('of 50 texts in 20 revisions each, every passage is found at its place or not at all', () => {
  const { wrong, found } = tallyOf(50);
  expect(wrong).toEqual([]);
  expect(found.reflowed).toBeGreaterThan(90);
  expect(found.edited_within).toBeGreaterThan(60);
});

test('a letter with hundreds of thousands of marks holds nothing up', () => {
  // Sorted as one, they would take minutes.
  const text = `a${'\u0301\u0323'.repeat(200_000)} the fee`;
  expect(findWords(text, 'the fee').count).toBe(1);
});
