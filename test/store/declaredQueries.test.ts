import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

test('each declared query is valid for a new archive, has one kind of placeholder, and changes nothing by reading a large table', () => {
  const script = resolve(import.meta.dirname, 'prepareDeclared.ts');
  const found: unknown = JSON.parse(execFileSync(process.execPath, [script], { encoding: 'utf8' }));
  expect(found).toEqual({ queries: expect.any(Number), problems: [] });
  expect(found).toHaveProperty(
    'queries',
    expect.toSatisfy((queries: number) => queries > 300),
  );
});
