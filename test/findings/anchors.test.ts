import { expect, test } from 'vitest';
import { changeOfPassage, placedPassage } from '../../server/collection/derived/passages/inText.ts';
import { compressContent } from '../../server/collection/derived/process/tasks.ts';
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

test('what became of a passage is said after a version without a text, too', () => {
  const tool = { tool: 'extractor', version: '1' };
  const stored = (text: string | null) => ({
    ...tool,
    content: text === null ? null : compressContent({ text, pages: null }),
  });
  const text = 'The fee is 20 euros for everyone who enters the museum.';
  const quotation = { sha256: 'a'.repeat(64), exact: '20 euros', prefix: '', suffix: '' };
  const passage = placedPassage(
    { ...quotation, start: null, end: null, page: null },
    { ...tool, text, pages: null },
  );
  const changeTo = (now: string | null, earlier?: string | null) =>
    changeOfPassage({
      task: 'passage_change',
      passage,
      quoted: stored(text),
      now: stored(now),
      earlier: earlier === undefined ? undefined : stored(earlier),
    });
  expect(changeTo(null)).toBe('unknown');
  expect(changeTo(null, null)).toBeNull();
  expect(changeTo('The museum is closed.', null)).toEqual({ after: null });
  expect(changeTo(text.replace('20', '25'), null)).toEqual({ after: '25 euros' });
  expect(changeTo(text, null)).toBeNull();
  expect(changeTo('The museum is closed.', 'The museum is shut.')).toBeNull();
});
