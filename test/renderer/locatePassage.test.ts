import { expect, test } from 'vitest';
import { locatePassage } from '../../renderer/src/components/content/passages.ts';

test('a passage is found with its context, and positions count code points', () => {
  const text = '😀 The fee is\n  20 euros (VAT incl.) for everyone.';
  expect(locatePassage(text, 'fee is 20 euros (VAT', false)).toEqual({
    exact: 'fee is\n  20 euros (VAT',
    prefix: '😀 The ',
    suffix: ' incl.) for everyone.',
    start: 6,
    end: 28,
    page: null,
  });
});

test('the context is at most 32 characters on either side, and never half of one', () => {
  const located = locatePassage(`${'😀'.repeat(40)}here${'😀'.repeat(40)}`, 'here', false);
  expect(located).toMatchObject({ prefix: '😀'.repeat(32), suffix: '😀'.repeat(32), start: 40, end: 44 });
});

test('the page of a PDF is counted by form feeds', () => {
  expect(locatePassage('one\ftwo\fthree', 'three', true)?.page).toBe(3);
  expect(locatePassage('one\ftwo\fthree', 'one', true)?.page).toBe(1);
});

test.each(['absent', '', '   ', '.*', '[', '\\'])('%j is not found in a text without it', (quote) => {
  expect(locatePassage('some text', quote, false)).toBeUndefined();
});
