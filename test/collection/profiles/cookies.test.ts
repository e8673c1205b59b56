import { describe, expect, test } from 'vitest';
import {
  type Cookie,
  cookieHeader,
  hidesSecure,
  isDomainOfSite,
  isOfSite,
  readSetCookie,
  siteNamed,
  withCookie,
} from '../../../server/collection/profiles/cookies.ts';

const NOW = Date.parse('2026-11-26T12:00:00Z');
const PAGE = new URL('https://www.example.org/a/b?c=d');

function set(header: string, url = PAGE): Cookie | undefined {
  return readSetCookie(header, url, NOW);
}

describe('a cookie that a site sets', () => {
  test.each<[string, Partial<Cookie>]>([
    ['a=b', { name: 'a', value: 'b', domain: 'www.example.org', hostOnly: true, path: '/a', expires: null }],
    ['a="b=c"', { value: '"b=c"' }],
    ['alone', { name: '', value: 'alone' }],
    ['a=b; Domain=.Example.org', { domain: 'example.org', hostOnly: false }],
    ['a=b; Domain=', { domain: 'www.example.org', hostOnly: true }],
    ['a=b; Path=/x; Path=/y', { path: '/y' }],
    ['a=b; Path=x', { path: '/a' }],
    ['a=b; __proto__=x; constructor; hasOwnProperty=1', { value: 'b' }],
    ['a=b; SECURE; HttpOnly; SameSite=lax', { secure: true, httpOnly: true, sameSite: 'Lax' }],
    ['a=b; Max-Age=60', { expires: NOW + 60_000 }],
    ['a=b; Max-Age=-1', { expires: 0 }],
    ['a=b; Max-Age=0; Expires=Wed, 26 Nov 2036 12:00:00 GMT', { expires: 0 }],
    ['a=b; Expires=Fri, 27-Nov-2026 12:00:00 GMT', { expires: NOW + 86_400_000 }],
    ['a=b; Expires=whenever', { expires: null }],
    ['a=b; Max-Age=99999999999', { expires: NOW + 400 * 86_400_000 }],
    ['__Host-a=b; Secure; Path=/', { name: '__Host-a', hostOnly: true }],
  ])('%s', (header, expected) => {
    expect(set(header)).toMatchObject(expected);
  });

  test.each([
    ['a=b; Domain=other.org', PAGE],
    ['a=b; Domain=le.org', PAGE],
    ['a=b; Domain=sub.www.example.org', PAGE],
    ['a=b; Secure', new URL('http://www.example.org/')],
    ['__Secure-a=b', PAGE],
    ['__Host-a=b; Secure; Path=/x', PAGE],
    ['__Host-a=b; Secure; Path=/; Domain=example.org', PAGE],
    ['', PAGE],
    [`a=${'x'.repeat(5_000)}`, PAGE],
    ['a=b\u0007', PAGE],
    ['a=b; Domain=0.0.1', new URL('http://127.0.0.1/')],
  ])('%s at %s is refused', (header, url) => {
    expect(set(header, url)).toBeUndefined();
  });

  test('replaces the one of the same name, domain and path, and ends it when it has expired', () => {
    const kept = ['a=1; Path=/', 'a=2; Path=/x', 'b=3; Path=/'].reduce<Cookie[]>(
      (cookies, header) => withCookie(cookies, set(header) as Cookie, NOW, 10),
      [],
    );
    const names = (cookies: readonly Cookie[]) => cookies.map(({ name, value }) => name + value);
    expect(names(withCookie(kept, set('a=4; Path=/') as Cookie, NOW, 10))).toEqual(['a2', 'b3', 'a4']);
    expect(names(withCookie(kept, set('a=; Path=/; Max-Age=0') as Cookie, NOW, 10))).toEqual(['a2', 'b3']);
    expect(names(withCookie(kept, set('c=5') as Cookie, NOW, 2))).toEqual(['b3', 'c5']);
  });
});

test.each([
  ['https://www.example.org/a/x', 'p=1; d=2; h=3; s=4'],
  ['https://www.example.org/ab', 'd=2; h=3; s=4'],
  ['http://www.example.org/', 'd=2; h=3'],
  ['https://sub.www.example.org/', 'd=2; s=4'],
  ['https://example.org/', 'd=2; s=4'],
  ['https://notexample.org/', undefined],
  ['https://example.org.evil.example/', undefined],
])('what is sent to %s: %s', (url, expected) => {
  const cookies = [
    'd=2; Path=/; Domain=example.org',
    'h=3; Path=/',
    's=4; Path=/; Secure; Domain=example.org',
    'p=1; Path=/a',
  ].map((header) => set(header) as Cookie);
  const old: Cookie = { ...(set('old=1; Path=/') as Cookie), expires: NOW };
  expect(cookieHeader([old, ...cookies], new URL(url), NOW)).toBe(expected);
});

test('other characters than those of a header are sent as UTF-8', () => {
  const cookie = { ...(set('a=b; Path=/') as Cookie), value: 'é→' };
  expect(Buffer.from(cookieHeader([cookie], PAGE, NOW) ?? '', 'latin1').toString('utf8')).toBe('a=é→');
});

test.each([
  ['example.org', 'example.org'],
  ['https://www.example.co.uk/login', 'example.co.uk'],
  ['.example.org', 'example.org'],
  ['me.github.io', 'me.github.io'],
  ['localhost', 'localhost'],
  ['http://127.0.0.1:8080/', '127.0.0.1:8080'],
  ['https://example.org:8443', 'example.org'],
  ['co.uk', undefined],
  ['github.io', undefined],
  ['https://a:b@example.org', undefined],
  ['file:///etc', undefined],
  ['', undefined],
])('the site of %s is %s', (given, expected) => {
  expect(siteNamed(given)).toBe(expected);
});

test('addresses and cookies belong to their site only', () => {
  const of = (url: string, site: string) => isOfSite(new URL(url), site);
  expect(of('https://a.b.example.org/', 'example.org')).toBe(true);
  expect(of('ftp://example.org/', 'example.org')).toBe(false);
  expect(of('https://example.org.evil.example/', 'example.org')).toBe(false);
  expect(of('http://127.0.0.1:8081/', '127.0.0.1:8080')).toBe(false);
  expect(of('http://127.0.0.1:8081/', '127.0.0.1')).toBe(true);
  expect(of('https://you.github.io/', 'me.github.io')).toBe(false);
  expect(isDomainOfSite('127.0.0.1', '127.0.0.1:8080')).toBe(true);
  expect(isDomainOfSite('org', 'example.org')).toBe(false);
});

test.each<[string, string, boolean]>([
  ['http://www.example.org/', 'sid=x; Path=/', true],
  ['http://www.example.org/', 'sid=x; Path=/; Domain=example.org', true],
  ['http://www.example.org/', 'sid=x; Path=/below', true],
  ['http://www.example.org/', 'other=x; Path=/', false],
  ['http://news.example.org/', 'sid=x; Path=/', false],
  ['https://www.example.org/', 'sid=x; Path=/', false],
])('whether a cookie from %s hides a secure one: %s', (address, header, expected) => {
  const url = new URL(address);
  const kept = [set('sid=secret; Path=/; Secure') as Cookie];
  expect(hidesSecure(kept, set(header, url) as Cookie, url)).toBe(expected);
});
