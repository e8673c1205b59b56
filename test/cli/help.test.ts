import { expect, test } from 'vitest';
import { runHere } from '../support/runHere.ts';

test('the help lists every command, and the help of each command fits a terminal of 120 columns', async () => {
  const overview = await runHere(['--help']);
  const names = overview.stdout
    .split('\n')
    .map((line) => /^ {2}([a-z-]+) {2,}\S/.exec(line)?.[1])
    .filter((name) => name !== undefined);
  expect(names).toEqual(expect.arrayContaining(['serve', 'audit', 'check', 'export', 'key', 'rebuild']));
  for (const { code, stdout, stderr } of await Promise.all(names.map((name) => runHere([name, '--help'])))) {
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: strongroom /);
    const options = stdout.split('\n').filter((line) => /^ {2,}(-o, )?--/.test(line));
    expect(options.length).toBeGreaterThan(1);
    expect(options.join('\n')).toContain('--json');
    expect(options.filter((line) => line.length > 120)).toEqual([]);
  }
});
