import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { approximateExpression, matchExpression } from '../../server/store/sqlite/engine/search.ts';

const TEXTS = [
  'Crème brûlée and the sea level of Zürich',
  'a red apple, not a green one',
  'an apple that is red',
  'file data-2024_v2.csv AND more OR less NOT nothing NEAR here',
  'https://www.example.org/reports/2024?page=2',
  'Статистика населения',
];

let database: Database.Database;

beforeAll(() => {
  database = new Database(':memory:');
  database.exec("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')");
  for (const text of TEXTS) database.prepare('INSERT INTO texts (text) VALUES (?)').run(text);
});

afterAll(() => {
  database.close();
});

function found(q: string): number[] {
  const expression = matchExpression(q);
  if (expression === undefined) return TEXTS.map((_, index) => index);
  const rows = database.prepare('SELECT rowid - 1 AS at FROM texts WHERE texts MATCH ? ORDER BY rowid');
  return (rows.all(expression) as { at: number }[]).map(({ at }) => at);
}

test.each([
  ['creme BRULEE', [0]],
  ['zur', [0]],
  ['apple red', [1, 2]],
  ['app re', [1, 2]],
  ['"red apple"', [1]],
  ['"red apple" green', [1]],
  ['"red app"', []],
  ['NOT', [1, 3]],
  ['apple OR pear', []],
  ['data-2024', [3]],
  ['example.org/reports', [4]],
  ['насел', [5]],
  ['', [0, 1, 2, 3, 4, 5]],
  ['  " ', [0, 1, 2, 3, 4, 5]],
  ['*', [0, 1, 2, 3, 4, 5]],
  ['-- green', [1]],
  ['"green', [1]],
  ['green\0apple', [1]],
  ['text:apple', []],
])('matches if all words occur as prefixes, ignoring case and accents: %j', (q, expected) => {
  expect(found(q)).toEqual(expected);
});

test('a word that is a prefix of another is dropped', () => {
  expect(matchExpression('a ap app apple be')).toBe('"apple"* "be"*');
});

test('words that differ only in case are combined', () => {
  expect(matchExpression('Apple APPLE app')).toBe('"apple"*');
});

test('the approximate expression has only the longest of very many words', () => {
  expect(approximateExpression('a b c d e f g h i j k l')).toBeUndefined();
  expect(approximateExpression('a bb ccc d e f g h i j k l m')).toBe(
    '"ccc"* "bb"* "a"* "d"* "e"* "f"* "g"* "h"* "i"* "j"* "k"* "l"*',
  );
  const phrase = '"one two three four five six seven eight nine ten eleven twelve thirteen"';
  expect(approximateExpression(`${phrase} x`)).toBe(phrase);
});

test('any text is a valid query', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom(
        '"',
        '*',
        '(',
        ')',
        'AND',
        ' ',
        'NEAR',
        ':',
        '^',
        '-',
        '+',
        '{',
        '}',
        '\0',
        'a',
        "'",
        ',',
      ),
    }),
    fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)),
  );
  fc.assert(
    fc.property(hostile, (q) => void found(q)),
    { numRuns: 2_000 },
  );
});
