import { describe, expect, test } from 'vitest';
import {
  isAllowedBy,
  parseRobotsTxt,
  RobotsTooComplexError,
} from '../../../server/collection/fetch/robots.ts';
import { maxBlockedCpu } from '../../support/blockedCpu.ts';

/** Returns whether a robots.txt allows a crawler to fetch a path. */
function allows(robots: string, path: string, agent = 'ExampleBot'): boolean {
  return isAllowedBy(parseRobotsTxt(robots, agent), new URL(path, 'https://example.com'));
}

const forAll = (...rules: string[]) => `User-agent: *\n${rules.join('\n')}\n`;

describe('groups (RFC 9309, section 2.2.1)', () => {
  test('all groups that name the crawler apply, ignoring case', () => {
    const robots =
      'User-Agent: examplebot\nDisallow: /foo\nDisallow: /bar\n\nUser-Agent: *\nDisallow: /\n\nUSER-AGENT: ExampleBot\ndisallow: /baz\n';
    for (const path of ['/foo', '/bar', '/baz']) expect(allows(robots, path)).toBe(false);
    expect(allows(robots, '/other')).toBe(true);
    expect(allows(robots, '/other', 'BarBot')).toBe(false);
  });

  test('a group may have several names, each on its own line', () => {
    const robots = 'User-agent: foobot\nUser-agent: barbot\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n';
    expect([allows(robots, '/a', 'foobot'), allows(robots, '/a', 'barbot'), allows(robots, '/a')]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test('a group without rules allows everything, and a partial name does not match', () => {
    expect(allows('User-agent: ExampleBot\n\nUser-agent: *\nDisallow: /\n', '/x')).toBe(false);
    expect(allows('User-agent: ExampleBot\nDisallow:\n\nUser-agent: *\nDisallow: /\n', '/x')).toBe(true);
    expect(allows('User-agent: Example\nDisallow: /\n', '/x')).toBe(true);
    expect(allows('User-agent: ExampleBot/2.1\nDisallow: /\n', '/x')).toBe(false);
  });

  test('other records do not end a group; rules before any group and comments are ignored', () => {
    const robots =
      'Disallow: /a\nUser-agent: *  # everybody\nSitemap: https://example.com/s.xml\nCrawl-delay: 3\nDisallow: /b # so it is\n';
    expect([allows(robots, '/a'), allows(robots, '/b')]).toEqual([true, false]);
  });

  test('lines may end with CR, LF or both', () => {
    expect(allows('User-agent: *\rDisallow: /a\r\nDisallow: /b\n', '/a')).toBe(false);
  });
});

describe('precedence of rules (section 2.2.2)', () => {
  test('the most specific rule decides; of two equivalent rules, `allow`', () => {
    const robots = forAll('Allow: /example/page/', 'Disallow: /example/page/disallowed.gif', 'Disallow: /e');
    expect(allows(robots, '/example/page/disallowed.gif')).toBe(false);
    expect(allows(robots, '/example/page/x')).toBe(true);
    expect(allows(robots, '/example/')).toBe(false);
    expect(allows(forAll('Disallow: /same', 'Allow: /same'), '/same')).toBe(true);
  });

  test('paths are matched case-sensitively from the first character, including the query', () => {
    expect(allows(forAll('Disallow: /A'), '/a')).toBe(true);
    expect(allows(forAll('Disallow: /b'), '/a/b')).toBe(true);
    expect(allows(forAll('Disallow: /p?q=1'), '/p?q=12')).toBe(false);
  });

  test('/robots.txt itself is always allowed', () => {
    expect(allows(forAll('Disallow: /'), '/robots.txt')).toBe(true);
    expect(allows(forAll('Disallow: /'), '/robots.txt.bak')).toBe(false);
  });

  test.each([
    ['/foo/bar?baz=quz', '/foo/bar?baz=quz'],
    ['/foo/bar?baz=http://foo.bar', '/foo/bar?baz=http%3A%2F%2Ffoo.bar', true],
    ['/foo/bar/\u30c4', '/foo/bar/%E3%83%84'],
    ['/foo/bar/%E3%83%84', '/foo/bar/\u30c4'],
    ['/foo/bar/%62%61%7A', '/foo/bar/baz'],
    ['/foo/bar/baz', '/foo/bar/%62%61%7a'],
    ['/a%3cd', '/a%3Cd'],
  ])('percent-encoding is normalized: rule %s, path %s', (rule, path, isAllowed = false) => {
    expect(allows(forAll(`Disallow: ${rule}`), path)).toBe(isAllowed);
  });
});

describe('special characters (section 2.2.3)', () => {
  test.each([
    ['/this/path/exactly$', '/this/path/exactly', false],
    ['/this/path/exactly$', '/this/path/exactly/not', true],
    ['/this/*/exactly', '/this/path/or/that/exactly?x', false],
    ['*.gif$', '/a/b.gif', false],
    ['*.gif$', '/a/b.gif?x', true],
    ['*.gif$', '/a.gif/b.gif', false],
    ['/a*b*c$', '/abcbc', false],
    ['/a*b*c$', '/acb', true],
    ['/fish*', '/fish', false],
    ['/**', '/', false],
    ['*', '/x', false],
    ['/path/file-with-a-%2A.html', '/path/file-with-a-*.html', false],
    ['/path/file-with-a-%2A.html', '/path/file-with-a-b.html', true],
    ['/path/foo-%24', '/path/foo-$', false],
    ['/a$b', '/a$b', false],
    ['/a$', '/a$', true],
  ])('rule %s, path %s', (rule, path, isAllowed) => {
    expect(allows(forAll(`Disallow: ${rule}`), path)).toBe(isAllowed);
  });
});

describe('hostile rules', () => {
  const long = `/${'a'.repeat(15_000)}`;

  test('250 rules of 1,000 wildcards on a path of 15,000 characters are matched', async () => {
    const rules = parseRobotsTxt(
      forAll(...Array<string>(250).fill(`Disallow: /${'*a'.repeat(1_000)}*b`)),
      'x',
    );
    const ms = await maxBlockedCpu(async () => {
      for (let times = 0; times < 5; times += 1)
        expect(isAllowedBy(rules, new URL(long, 'https://example.com'))).toBe(true);
    });
    // Without the limit, each call takes more than 15 seconds of the processor.
    expect(ms).toBeLessThan(60_000);
  });

  test('rules that take too many steps throw', () => {
    const rules = parseRobotsTxt(forAll(...Array<string>(250).fill(`Disallow: /*${'a'.repeat(900)}b`)), 'x');
    expect(() => isAllowedBy(rules, new URL(long, 'https://example.com'))).toThrow(RobotsTooComplexError);
  });

  test('20,000 rules with wildcards on an ordinary URL do not throw', () => {
    const rules = parseRobotsTxt(forAll(...Array<string>(20_000).fill('Disallow: /*/private*.pdf$')), 'x');
    expect(isAllowedBy(rules, new URL('https://example.com/a/b/c/d/e.html?x=1'))).toBe(true);
  });

  test('many names of a group do not multiply its rules', () => {
    const robots = `${'User-agent: x\n'.repeat(15_000)}${'Disallow: /a\n'.repeat(15_000)}`;
    expect(parseRobotsTxt(robots, 'x').rules).toHaveLength(15_000);
  });
});
