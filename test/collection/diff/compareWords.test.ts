import { describe, expect, test } from 'vitest';
import { compareWords } from '../../../server/collection/diff/compareWords.ts';

/** Returns each hunk as one line: removed words in [-…-], added ones in {+…+}. */
function marked(from: string, to: string): string[] {
  return compareWords(from, to).hunks.map(({ parts }) =>
    parts
      .map(({ op, text }) => (op === 'same' ? text : op === 'added' ? `{+${text}+}` : `[-${text}-]`))
      .join(''),
  );
}

const LINES = Array.from({ length: 200 }, (_, number) => `Line ${number} of the report.\n`);

describe('comparing two texts', () => {
  test('shows changed words with their context', () => {
    expect(marked('The tide was high at noon.', 'The tide was low at noon.')).toEqual([
      'The tide was [-high-]{+low+} at noon.',
    ]);
  });

  test('returns no hunks for equal texts', () => {
    const { hunks, summary } = compareWords('a b c', 'a b c');
    expect(hunks).toEqual([]);
    expect(summary).toEqual({ unit: 'words', added: 0, removed: 0 });
  });

  test('returns two hunks with their line numbers for two distant changes', () => {
    const changed = LINES.with(10, 'Line ten was rewritten.\n').with(150, '').join('');
    const { hunks, summary, truncated } = compareWords(LINES.join(''), changed);
    expect(hunks).toHaveLength(2);
    expect(hunks[0]?.from_line).toBeLessThanOrEqual(11);
    expect(hunks[1]?.from_line).toBeGreaterThan(140);
    expect(summary.removed).toBeGreaterThan(0);
    expect(truncated).toBe(false);
    expect(JSON.stringify(hunks)).not.toContain('Line 80 ');
  });

  test('both texts can be restored from hunks that cover them', () => {
    const [from, to] = ['one two\nthree four\n', 'one 2\nthree four five\nsix'];
    const [hunk] = compareWords(from, to).hunks;
    const side = (without: string) =>
      hunk?.parts.flatMap(({ op, text }) => (op === without ? [] : [text])).join('');
    expect(side('added')).toBe(from);
    expect(side('removed')).toBe(to);
  });

  test('compares texts of one long line each', () => {
    const words = Array.from({ length: 20_000 }, (_, number) => `word${number}`);
    const { summary, hunks } = compareWords(words.join(' '), words.with(9_999, 'other').join(' '));
    expect(summary).toEqual({ unit: 'words', added: 1, removed: 1 });
    expect(JSON.stringify(hunks).length).toBeLessThan(1_000);
  });

  test('returns the page of each hunk of a PDF', () => {
    const { hunks } = compareWords('one\n\f\ntwo\n\f\nthree', 'one\n\f\ntwo\n\f\n3', [1, 3, 5]);
    expect(hunks.map(({ page }) => page)).toEqual([3]);
  });
});

describe('texts with nothing in common', () => {
  test('of 20 MB each are shown by their beginnings, in little space', () => {
    const text = (seed: number) =>
      Array.from(
        { length: 400_000 },
        (_, line) => `${seed} line ${(line * 7_919) % 1_000_003} of some words here and more`,
      )
        .join('\n')
        .slice(0, 20_000_000);
    const [from, to] = [text(1), text(2)];
    const { summary, hunks, truncated, coarse } = compareWords(from, to);
    expect(coarse).toBe('too_different');
    expect(summary.unit).toBe('whole');
    expect(summary.added).toBeGreaterThan(1_000_000);
    expect(truncated).toBe(true);
    expect(JSON.stringify(hunks).length).toBeLessThan(100_000);
  });

  test('in one passage are shown line by line in that passage', () => {
    const words = (from: number) => Array.from({ length: 30_000 }, (_, number) => `w${number * 2 + from}`);
    const { summary, coarse, truncated } = compareWords(
      `a\n${words(0).join(' ')}\nb`,
      `a\n${words(1).join(' ')}\nb`,
    );
    expect(coarse).toBe('some_lines');
    expect(summary).toEqual({ unit: 'lines', added: 1, removed: 1 });
    expect(truncated).toBe(true);
  });
});
