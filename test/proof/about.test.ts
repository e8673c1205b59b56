import { expect, test } from 'vitest';
import { aboutWords } from '../../shared/proof/about.ts';

test('a title can neither be taken for another part nor turn the others around', () => {
  const about = { subject: 'pack pk_1', at: '2026-01-01T00:00:00.000Z', sha256: null, key: 'node+1+A' };
  expect(aboutWords({ ...about, name: 'T", 2019, key other\u202e\n' })).toBe(
    'pack pk_1, "T\\", 2019, key other\\u{202e}\\n", 2026-01-01T00:00:00.000Z, no object, key node+1+A',
  );
});
