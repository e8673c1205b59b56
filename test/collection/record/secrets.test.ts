import { describe, expect, test } from 'vitest';
import { publicMediaType } from '../../../server/collection/record/publicHeaders.ts';
import { Secrets } from '../../../server/collection/record/secrets.ts';

function profileWith(values: readonly string[], stored: readonly string[] = []): Secrets {
  const secrets = new Secrets('https://a.example/mine');
  const items = stored.map((value, index): [string, string] => [`i${index}`, value]);
  secrets.addProfile({ cookies: values.map((value) => ({ value })), origins: [{ items }] });
  return secrets;
}

describe('the values of a profile are found', () => {
  test.each<[string, string, string]>([
    ['as they are', 'abcdefgh1', 'https://a.example/?s=withheld&t=1'],
    ['with slashes, as Base64 has them', 'Zk8f/Q2mVx7L/w93+abcd/==', 'x=withheld'],
    ['encoded, from a token in JSON', '{"token":"Zk8fQ2mVx7+Lw93abcd=","n":1}', 'x=withheld'],
    ['encoded, from a token with slashes in JSON', '{"t":"Zk8f/Q2mVx7/Lw93/abcd="}', 'x=withheld'],
  ])('%s', (_, value, expected) => {
    const [token = value] = /[A-Za-z0-9+/]{8,}=*/.exec(value) ?? [];
    const secret = value.startsWith('{') ? encodeURIComponent(/:"([^"]+)"/.exec(value)?.[1] ?? '') : token;
    expect(profileWith([value]).without(expected.replace('withheld', secret))).toBe(expected);
  });

  test('the longest first, however many are in a text', () => {
    const secrets = profileWith(['abcdefgh', 'abcdefghij']);
    expect(secrets.without('abcdefghij, abcdefgh and abcdefg')).toBe('withheld, withheld and abcdefg');
    expect(secrets.isIn('abcdefg')).toBe(false);
  });

  test('and so is a cookie that is set later, beside a storage with very many values', () => {
    const stored = Array.from({ length: 6_000 }, (_, index) => `stored-value-${index}`);
    const secrets = profileWith(['abcdefgh'], stored);
    secrets.add('rotated-later-1');
    expect(secrets.without('rotated-later-1 stored-value-17')).toBe('withheld withheld');
  });

  test('in a long text with as many values as a profile can have', () => {
    // With one pattern of all values this took a minute.
    const values = Array.from({ length: 2_000 }, (_, index) =>
      `${(index * 7919) % 2000}`.padStart(4, 'x').repeat(100),
    );
    const secrets = profileWith([], values);
    const text = 'xx12345678abcdefghijklmnopqrstuvwxyz'.repeat(100_000);
    expect(secrets.without(text)).toBe(text);
    expect(secrets.without(`${text}${values[1_999]}`)).toBe(`${text}withheld`);
  });

  test('as one very long value', () => {
    // With an address made of each, this took seconds, and nothing else ran meanwhile.
    const value = '1é%'.repeat(300_000);
    const secrets = profileWith([], [value]);
    expect(secrets.without(`a ${value} ${encodeURIComponent(value)}`)).toBe('a withheld withheld');
  });

  test('however programs encode them in addresses', () => {
    const value = "a key/with ^`{'} \\é?";
    const secrets = new Secrets('https://a.example/mine');
    secrets.addHeader('X-Key', value);
    const url = new URL('https://b.example');
    url.search = value;
    const form = new URLSearchParams([['k', value]]).toString();
    const small = encodeURIComponent(value).replace(/%../g, (digits) => digits.toLowerCase());
    expect(secrets.without(`${url.href} ${form} ${encodeURIComponent(value)} ${small} ${value}`)).toBe(
      'https://b.example/?withheld k=withheld withheld withheld withheld',
    );
  });

  test('but not what is a path, or too short', () => {
    const secrets = profileWith(['en', '/articles/2024/Some-Title']);
    expect(secrets.without('/en/articles/2024/Some-Title')).toBe('/en/articles/2024/Some-Title');
  });
});

test('a choice that a cookie keeps is not looked for, and a session is', () => {
  const secrets = new Secrets('https://a.example/mine');
  secrets.addHeader('Cookie', 'consent=necessary; theme="Standard"; sid=abcdefghijklmnop; id=QwErTyUiOp');
  secrets.addCookies(['shown=publications; Path=/', 'next=zyxwvutsrqponmlk; Path=/']);
  const words = 'the Standard publications that are necessary';
  expect(secrets.without(words)).toBe(words);
  expect(secrets.without('abcdefghijklmnop QwErTyUiOp zyxwvutsrqponmlk')).toBe('withheld withheld withheld');
});

test.each([
  ['text/html', 'text/html'],
  ['Text/HTML;CHARSET="ISO-8859-1"', 'Text/HTML; charset=ISO-8859-1'],
  ["text/csv; header=present; charset='utf-8'", 'text/csv; charset=utf-8'],
  ['text/html charset=windows-1252', 'text/html; charset=windows-1252'],
  ['text/html, text/html', 'text/html'],
  ['application/pdf; name="a; charset=utf-8"', 'application/pdf'],
  ['application/pdf; name=Ada; charset=Ada', 'application/pdf'],
  ['Ada', null],
  ['', null],
  [null, null],
])('of the media type %s is kept %s', (given, kept) => {
  expect(publicMediaType(given)).toBe(kept);
});
