import { describe, expect, test } from 'vitest';
import { compareTables, parseTable } from '../../../server/collection/diff/compareTables.ts';

function compare(from: string, to: string) {
  return compareTables(parseTable(from, 'text/csv'), parseTable(to, 'text/csv'));
}

describe('comparing two tables', () => {
  test('matches rows by the first column with unique values', () => {
    const diff = compare(
      'region,id,people\nN,1,10\nS,2,20\nN,3,30\n',
      'region,id,people\nN,3,30\nN,1,11\nS,4,40\n',
    );
    expect(diff.key).toBe('id');
    expect(diff.summary).toMatchObject({ rows_added: 1, rows_removed: 1, rows_changed: 1, cells_changed: 1 });
    expect(diff.rows).toContainEqual({
      op: 'changed',
      from_row: 1,
      to_row: 2,
      key: '1',
      cells: [{ column: 'people', before: '10', after: '11' }],
    });
  });

  test('matches rows by order if there is no such column', () => {
    const diff = compare('a,b\nx,1\nx,1\ny,2\n', 'a,b\nx,1\nz,9\nx,1\ny,2\n');
    expect(diff.key).toBeNull();
    expect(diff.summary).toMatchObject({ rows_added: 1, rows_removed: 0, rows_changed: 0 });
    expect(diff.rows[0]).toMatchObject({ op: 'added', from_row: null, to_row: 2 });
  });

  test('finds a changed cell in a row without a key', () => {
    const diff = compare('a,b\nx,1\nx,1\n', 'a,b\nx,1\nx,2\n');
    expect(diff.rows).toEqual([
      { op: 'changed', from_row: 2, to_row: 2, key: null, cells: [{ column: 'b', before: '1', after: '2' }] },
    ]);
  });

  test('counts added and removed columns and matches the others by name', () => {
    const diff = compare('id,b,c\n1,2,3\n', 'c,id,d\n3,1,4\n');
    expect(diff.summary).toMatchObject({
      columns_added: 1,
      columns_removed: 1,
      rows_changed: 1,
      cells_changed: 2,
    });
    expect(diff.header).toEqual({ from: ['id', 'b', 'c'], to: ['c', 'id', 'd'] });
  });

  test('supports semicolons, tabs, quotes and line breaks in cells', () => {
    const diff = compare('id;text\r\n1;"a, ""b""\nc"\r\n', 'id\ttext\n1\tnew\n');
    expect(diff.rows[0]?.cells).toEqual([{ column: 'text', before: 'a, "b"\nc', after: 'new' }]);
  });

  test.each([
    ['a title', 'Fees by kind\nkind,lake,sea\n', '1'],
    ['a title and an empty line', 'Fees; by kind\n\nkind,lake,sea\n', '1'],
    ['a comment', '# checked, twice\nkind,lake,sea\n', '1'],
    ['a padded title', 'Fees by kind,,\nkind,lake,sea\n', 'sea'],
    ['sep=', 'sep=,\r\nkind,lake,sea\n', 'sea'],
    ['"sep=," behind a byte order mark', '\ufeff"sep=,"\r\nkind,lake,sea\n', 'sea'],
    ['a header without a name for the rows', 'lake,sea\n', 'sea'],
    ['a header with too few names', 'kind,lake\nboat,1\n', 'Column 3'],
    ['a header with one name', 'kind\n', '4'],
  ])('compares all cells below %s', (_, header, column) => {
    const table = (value: number) => `${header}canoe,1,4\nraft,3,${value}\n`;
    const diff = compare(table(6), table(99));
    expect(diff.summary).toMatchObject({ rows_changed: 1, cells_changed: 1, columns_added: 0 });
    expect(diff.rows).toMatchObject([{ key: 'raft', cells: [{ before: '6', after: '99' }] }]);
    if (/kind,lake,sea/.test(header) && !/,,/.test(header)) {
      expect(diff.rows[0]?.cells[0]?.column).toBe('sea');
      expect(diff.header.to).toEqual(['kind', 'lake', 'sea']);
    } else if (header.startsWith('lake')) expect(diff.header.to).toEqual(['', 'lake', 'sea']);
    else if (header.startsWith('kind,lake\n')) expect(diff.rows[0]?.cells[0]?.column).toBe(column);
  });

  test('shows a title that changed, and one that was added', () => {
    const rows = 'kind,lake,sea\ncanoe,1,4\nraft,3,6\n';
    expect(compare(`Fees of May\n${rows}`, `Fees of June\n${rows}`).rows).toMatchObject([
      { op: 'removed', cells: [{ before: 'Fees of May' }] },
      { op: 'added', cells: [{ after: 'Fees of June' }] },
    ]);
    expect(compare(rows, `Fees of June\n${rows}`).summary).toMatchObject({ rows_added: 1, rows_changed: 0 });
  });

  test('ignores delimiters at the end of lines', () => {
    expect(compare('a,b\n1,2\n', 'a,b\n1,2,,\n').summary).toMatchObject({
      rows_changed: 0,
      columns_added: 0,
    });
  });

  test('finds the delimiter below a title, and beside decimal commas', () => {
    const diff = compare(
      'Prices, in euros\nkind;lake\nraft;3,5\nboat;4,5\n',
      'Prices, in euros\nkind;lake\nraft;3,7\nboat;4,5\n',
    );
    expect(diff.rows[0]?.cells).toEqual([{ column: 'lake', before: '3,5', after: '3,7' }]);
  });

  test('counts all changes of 100,000 different rows and lists the first 1,000', () => {
    const table = (seed: number) =>
      `a,b\n${Array.from({ length: 100_000 }, (_, n) => `${seed}-${n % 5_000},${n % 7}`).join('\n')}`;
    const diff = compare(table(1), table(2));
    expect(diff.summary.rows_added + diff.summary.rows_changed).toBe(100_000);
    expect(diff.rows).toHaveLength(1_000);
    expect(diff.truncated).toBe(true);
  });
});
