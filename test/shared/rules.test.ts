import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareByUtf8, filePathFault } from '../../shared/archive/filePath.ts';
import { isOrcid, isRelatedIdentifier, resultsSchema } from '../../shared/archive/pack.ts';
import { ROUTE_SPECS } from '../../shared/routes.ts';

describe('a path inside a pack', () => {
  test.each(['a.csv', 'data/2024/a b.csv', 'É.txt', '.hidden', 'com10.txt', 'console.log', 'a'.repeat(1024)])(
    '%s is accepted',
    (path) => {
      expect(filePathFault(path)).toBeUndefined();
    },
  );

  test.each([
    '',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/../b',
    './a',
    'a\\b',
    'a%20b',
    'a\u0000b',
    'a\u0085b',
    'e\u0301.txt',
    'a:b',
    'a?',
    'con',
    'CON.txt',
    'a/nul',
    'com1',
    'lpt9.csv',
    'dot.',
    'blank ',
    'a'.repeat(1025),
  ])('refuses %j', (path) => {
    expect(filePathFault(path)).toMatch(/\.$/);
  });

  test('sorts files by the UTF-8 bytes of their paths, not by UTF-16', () => {
    const paths = ['\u{10000}', '\uffff', 'b', 'a/b', 'a'];
    expect(paths.toSorted(compareByUtf8)).toEqual(['a', 'a/b', 'b', '\uffff', '\u{10000}']);
    const path = fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(path, path, path, (before, left, right) => {
        const order = Buffer.compare(Buffer.from(before + left), Buffer.from(before + right));
        expect(Math.sign(compareByUtf8(before + left, before + right))).toBe(order);
      }),
    );
  });
});

test('an ORCID iD is accepted only with a valid check digit (ISO 7064 MOD 11-2)', () => {
  expect(isOrcid('0000-0002-1825-0097')).toBe(true);
  expect(isOrcid('0000-0002-1694-233X')).toBe(true);
  expect(isOrcid('0000-0002-1825-0098')).toBe(false);
  expect(isOrcid('0000-0002-1694-233x')).toBe(false);
  expect(isOrcid('0000000218250097')).toBe(false);
});

test('a related work is a DOI, an http(s) URL or a digest', () => {
  expect(
    [
      '10.5281/zenodo.123',
      'doi:10.1000/182',
      'https://doi.org/10.1000/182',
      'https://example.org/a',
      `sha256:${'a'.repeat(64)}`,
    ].map(isRelatedIdentifier),
  ).not.toContain(false);
  expect(['', '10.1', 'ftp://example.org', 'A'.repeat(64), 'doi:'].map(isRelatedIdentifier)).not.toContain(
    true,
  );
});

test('results keep every name unchanged, including __proto__', () => {
  const given = JSON.parse('{"__proto__":3,"10":1,"9":2}');
  expect(resultsSchema.parse(given)).toBe(given);
  expect(resultsSchema.safeParse({ a: { b: 1 } }).error?.issues[0]?.path).toEqual(['a']);
  expect(resultsSchema.safeParse([]).success).toBe(false);
});

test('no two routes have the same address and method', () => {
  const all = Object.values(ROUTE_SPECS).map(
    ({ method, path }) => `${method} ${path.replace(/\{[^}]*\}/g, '{}')}`,
  );
  expect(new Set(all).size).toBe(all.length);
});
