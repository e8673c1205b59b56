import { describe, expect, test } from 'vitest';
import {
  compareStructure,
  parseJson,
  UncomparableJsonError,
} from '../../../server/collection/diff/compareStructure.ts';

function changes(from: unknown, to: unknown): string[] {
  return compareStructure(from, to).changes.map(
    ({ op, pointer, from_pointer, before, after }) =>
      `${op} ${from_pointer === null ? '' : `${from_pointer} → `}${pointer}: ${before?.json ?? ''} → ${after?.json ?? ''}`,
  );
}

describe('comparing two JSON values', () => {
  test('lists changed members by JSON Pointer', () => {
    expect(changes({ a: 1, 'b/c': { d: true }, gone: null }, { a: 2, 'b/c': { d: true, e: [] } })).toEqual([
      'changed /a: 1 → 2',
      'added /b~1c/e:  → []',
      'removed /gone: null → ',
    ]);
  });

  test('ignores the order of members', () => {
    expect(changes({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([]);
  });

  test('matches the elements of lists by an identifying member', () => {
    const from = [
      { id: 1, n: 'a' },
      { id: 2, n: 'b' },
      { id: 3, n: 'c' },
    ];
    const to = [
      { id: 3, n: 'c' },
      { id: 1, n: 'A' },
      { id: 4, n: 'd' },
    ];
    const result = compareStructure(from, to);
    expect(result.summary).toEqual({ added: 1, removed: 1, changed: 1, moved: 1 });
    expect(changes(from, to)).toEqual([
      'removed /1: {"id":2,"n":"b"} → ',
      'moved /2 → /0:  → ',
      'changed /0/n → /1/n: "a" → "A"',
      'added /2:  → {"id":4,"n":"d"}',
    ]);
  });

  test('matches other lists by order, without shifting the elements after an added one', () => {
    expect(changes([1, 2, 3, 4], [0, 1, 2, 4])).toEqual(['added /0:  → 0', 'removed /2: 3 → ']);
  });

  test('treats values of different types as one change', () => {
    expect(changes({ a: [] }, { a: {} })).toEqual(['changed /a: [] → {}']);
    expect(changes(1, '1')).toEqual(['changed : 1 → "1"']);
  });

  test('compares a member called __proto__ like any other', () => {
    expect(changes(parseJson('{"__proto__":1}'), parseJson('{"__proto__":2}'))).toEqual([
      'changed /__proto__: 1 → 2',
    ]);
  });

  test('counts all changes and lists the first 1,000', () => {
    const list = (from: number) =>
      Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, n + from]));
    const { summary, changes: listed, truncated } = compareStructure(list(0), list(1));
    expect(summary.changed).toBe(5_000);
    expect(listed).toHaveLength(1_000);
    expect(truncated).toBe(true);
  });
});

describe('parsing JSON for a comparison', () => {
  test('keeps digits that a number cannot hold', () => {
    const [from, to] = ['{"id":12345678901234567890}', '{"id":12345678901234567891}'].map(parseJson);
    expect(changes(from, to)).toEqual(['changed /id: 12345678901234567890 → 12345678901234567891']);
  });

  test('refuses JSON too deep for the stack, and malformed JSON', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    expect(() => parseJson(deep)).toThrow(UncomparableJsonError);
    expect(() => parseJson('{"a":')).toThrow(UncomparableJsonError);
    expect(parseJson(`{"a":"${'[{'.repeat(1_000)}"}`)).toBeTypeOf('object');
  });
});
