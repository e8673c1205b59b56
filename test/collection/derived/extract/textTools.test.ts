import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TEXT_TOOLS } from '../../../../server/collection/derived/process/tasks.ts';

test('the version of each tool names the installed library', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    string,
    Record<string, string>
  >;
  const named = Object.values(TEXT_TOOLS).flatMap(({ toolVersion }) => toolVersion.split('+').slice(1));
  expect(named).toHaveLength(5);
  const installed = Object.entries({ ...dependencies, ...devDependencies }).map(
    ([name, version]) => `${name}.${version}`,
  );
  for (const library of named) expect(installed).toContain(library);
});
