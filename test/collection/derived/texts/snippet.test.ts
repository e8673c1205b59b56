import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { snippetOf } from '../../../../server/collection/derived/search.ts';
import { searchTerms } from '../../../../server/store/sqlite/engine/search.ts';
import { maxBlockedCpu } from '../../../support/blockedCpu.ts';

function marked(text: string, q: string): string[] {
  const snippet = snippetOf(text, searchTerms(q));
  return snippet.marks.map(({ start, end }) => snippet.text.slice(start, end));
}

describe('a snippet', () => {
  test('marks the words that the index matches', () => {
    expect(marked('Crème BRÛLÉE and creams', 'brulee crem')).toEqual(['Crème', 'BRÛLÉE']);
    expect(marked('a file data-2024_v2.csv here', 'data-2024')).toEqual(['data-2024']);
    expect(marked('red apples, a red apple', '"red apple"')).toEqual(['red apple']);
    expect(marked('Статистика населения', 'насел')).toEqual(['населения']);
  });

  test('is taken from the part with the most of the words', () => {
    const filler = 'nothing to see here '.repeat(100);
    const text = `apple ${filler} an apple and a pear ${filler} pear`;
    const snippet = snippetOf(text, searchTerms('apple pear'));
    expect(snippet.text).toContain('an apple and a pear');
    expect(snippet.text).toMatch(/^….*…$/);
  });

  test('is the beginning if no word occurs in the text, and empty for an empty text', () => {
    expect(snippetOf('Beginning of it', searchTerms('title'))).toEqual({
      text: 'Beginning of it',
      marks: [],
    });
    expect(snippetOf('', searchTerms('title'))).toEqual({ text: '', marks: [] });
  });

  test('of a long text is found for a query of thousands of words', async () => {
    const text = 'apple pear plum '.repeat(12_500);
    const words = Array.from({ length: 3_000 }, (_, at) => `w${at}`).join(' ');
    let snippet = snippetOf('', searchTerms(''));
    const ms = await maxBlockedCpu(async () => {
      snippet = snippetOf(text, searchTerms(`${words} "${words}"`));
    });
    // Searching for each word separately takes half a minute of the processor.
    expect(ms).toBeLessThan(10_000);
    expect(snippet.text).toMatch(/^apple pear plum .*…$/);
    expect(snippet.marks).toEqual([]);
  });

  test('is one short, well-formed line for any text and any query', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 2000 }),
      fc
        .array(fc.constantFrom('apple', 'Zürich', '😀', '\n', 'x'.repeat(400), '東京'), { maxLength: 200 })
        .map((words) => words.join(' ')),
    );
    fc.assert(
      fc.property(texts, fc.string({ unit: 'grapheme', maxLength: 30 }), (given, q) => {
        const text = given.toWellFormed();
        const snippet = snippetOf(text, searchTerms(`${q} apple zur`));
        expect(snippet.text.length).toBeLessThanOrEqual(320);
        expect(snippet.text.isWellFormed()).toBe(true);
        expect(snippet.text).not.toMatch(/[\n\t]/);
        for (const { start, end } of snippet.marks) {
          expect(start).toBeLessThan(end);
          expect(end).toBeLessThanOrEqual(snippet.text.length);
        }
      }),
    );
  });
});
