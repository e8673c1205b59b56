import { expect, test } from 'vitest';
import { deeperThan, jsonNodes, visibleNodes } from '../../renderer/src/components/content/JsonTree.tsx';

/** Returns each value with its level, its name and how it is written. */
function shown(text: string) {
  return jsonNodes(text)?.map(({ level, name, kind, text: written, size }) =>
    [level, name, kind === 'object' || kind === 'array' ? `${kind} ${size}` : written].join('|'),
  );
}

test('values keep their order, their repeated names and the spelling of numbers and strings', () => {
  expect(shown('{"b": 1.50, "a": ["\\u00e9", {}, [], null], "b": -0e1}')).toEqual([
    '1||object 3',
    '2|b|1.50',
    '2|a|array 4',
    '3|0|"\\u00e9"',
    '3|1|object 0',
    '3|2|array 0',
    '3|3|null',
    '2|b|-0e1',
  ]);
  expect(shown(' true ')).toEqual(['1||true']);
  expect(shown('{"\\u0041": {}}')).toEqual(['1||object 1', '2|A|object 0']);
});

test.each([
  '',
  '{',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '[1,]',
  '[1 2]',
  '[,]',
  '{1:2}',
  '[1]]',
  'nul',
  '[1}',
  '1 2',
])('a text that is not JSON is not shown as a tree: %j', (text) => {
  expect(jsonNodes(text)).toBeUndefined();
});

test('what is inside a closed container is not visible', () => {
  const nodes = jsonNodes('{"a": {"x": [1, 2]}, "b": 3}') ?? [];
  const names = (closed: ReadonlySet<number>) => visibleNodes(nodes, closed).map(({ name }) => name);
  expect(names(new Set())).toEqual([null, 'a', 'x', '0', '1', 'b']);
  expect(names(deeperThan(nodes, 1))).toEqual([null, 'a', 'b']);
  expect(names(deeperThan(nodes, 2))).toEqual([null, 'a', 'x', 'b']);
});

test('a document of brackets alone is read at any depth', () => {
  const depth = 100_000;
  const nodes = jsonNodes('['.repeat(depth) + ']'.repeat(depth));
  expect(nodes).toHaveLength(depth);
  expect(nodes?.at(-1)?.level).toBe(depth);
});
