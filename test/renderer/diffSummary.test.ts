import { describe, expect, test } from 'vitest';
import { snippetParts } from '../../renderer/src/pages/search/SearchPage.tsx';
import { visibleText } from '../../shared/collection/derived.ts';
import type { Diff, TextPart } from '../../shared/collection/diff.ts';
import { diffSummary, hexBytes, unchangedBefore } from '../../shared/collection/diffSummary.ts';

const side = { sha256: 'a'.repeat(64), bytes: 10, content_type: null };
const shared = {
  event: 1,
  from: side,
  to: side,
  made_at: '2026-11-20T10:14:21.000Z',
  tool: { name: 'tool', version: '1' },
  truncated: false,
  reason: null,
  noise: { rules: [], watch: null, outside: false, is_noise: null, ignored: 0 },
};

function hunk(from_line: number, ...parts: TextPart[]) {
  return { from_line, to_line: from_line, page: null, parts };
}

function words(unit: 'words' | 'lines' | 'whole', added: number, removed: number, hunks = 1): Diff {
  const changes = Array.from({ length: hunks }, (_, index) =>
    hunk(index + 1, { op: 'added', text: 'x' } as const),
  );
  return { ...shared, kind: 'html', summary: { unit, added, removed }, hunks: changes };
}

describe('a diff is summarised in one line', () => {
  test('for words, lines and very different texts', () => {
    expect(diffSummary(words('words', 41, 12, 3))).toBe('3 passages, 41 words added, 12 removed');
    expect(diffSummary(words('lines', 0, 1))).toBe('1 passage, 1 line removed');
    expect(diffSummary(words('words', 0, 0))).toBe('1 passage, whitespace only');
    expect(diffSummary(words('words', 0, 0, 0))).toBeUndefined();
    expect(diffSummary(words('whole', 6_000, 1))).toBe('1 word before, 6,000 now');
    expect(diffSummary({ ...words('words', 9_000, 0, 500), truncated: true })).toBe(
      'First 500 passages, 9,000 words added',
    );
  });

  test('for values, rows and columns, pixels, and bytes', () => {
    const json = { ...shared, kind: 'json' as const, changes: [] };
    expect(diffSummary({ ...json, summary: { added: 2, removed: 0, changed: 0, moved: 1 } })).toBe(
      '2 values added, 1 moved',
    );
    expect(
      diffSummary({
        ...shared,
        kind: 'csv',
        summary: {
          rows_added: 0,
          rows_removed: 0,
          rows_changed: 3,
          cells_changed: 5,
          columns_added: 1,
          columns_removed: 0,
        },
        header: { from: [], to: [] },
        key: null,
        rows: [],
      }),
    ).toBe('3 rows changed (5 cells); 1 column added');
    const size = { from: { width: 100, height: 10 }, to: { width: 100, height: 10 } };
    const image = { ...shared, kind: 'image', size, box: null } as const;
    expect(
      diffSummary({ ...image, summary: { differing_pixels: 29, visible_pixels: 4, share: 0.029 } }),
    ).toBe('29 of 1,000 pixels differ (2.9 %), 4 of them visibly');
    expect(
      diffSummary({ ...image, summary: { differing_pixels: null, visible_pixels: null, share: null } }),
    ).toBe('100 × 10 pixels before, 100 × 10 pixels now');
    const bytes = { ...shared, kind: 'bytes', around: null } as const;
    expect(diffSummary({ ...bytes, summary: { length_change: -1, first_difference: 1_000 } })).toBe(
      '1 byte shorter; first difference at byte 1,000 (counted from 0)',
    );
  });
});

describe('the display of a diff', () => {
  test('shows the number of unchanged lines before each hunk', () => {
    const first = hunk(3, { op: 'same', text: 'a\nb\n' }, { op: 'added', text: 'x\ny\nz\n' });
    const second = hunk(10, { op: 'removed', text: 'c\n' });
    const third = hunk(11, { op: 'added', text: 'd' });
    expect(unchangedBefore([first, second, third])).toEqual([2, 5, 0]);
  });

  test('makes white space visible only if it is the whole change', () => {
    expect(visibleText(' \n\t')).toBe('·↵\n⇥');
    expect(visibleText('a b\n')).toBe('a b\n');
  });

  test('marks differing bytes, also past the end of the shorter version', () => {
    expect(hexBytes('00ff', '00')).toEqual([
      { hex: '00', differs: false },
      { hex: 'ff', differs: true },
    ]);
    expect(hexBytes('', '00')).toEqual([]);
  });
});

describe('a snippet is split at its marks', () => {
  const textOf = (parts: ReturnType<typeof snippetParts>) =>
    parts.map(({ text, isMarked }) => (isMarked ? `[${text}]` : text)).join('');

  test('by UTF-16 code units, in order, without losing text where marks overlap', () => {
    expect(
      textOf(
        snippetParts({
          text: '🦉 owls hunt',
          marks: [
            { start: 8, end: 12 },
            { start: 3, end: 7 },
          ],
        }),
      ),
    ).toBe('🦉 [owls] [hunt]');
    expect(
      textOf(
        snippetParts({
          text: 'abcdef',
          marks: [
            { start: 0, end: 3 },
            { start: 2, end: 4 },
          ],
        }),
      ),
    ).toBe('[abc][d]ef');
    expect(textOf(snippetParts({ text: 'plain', marks: [] }))).toBe('plain');
  });
});
