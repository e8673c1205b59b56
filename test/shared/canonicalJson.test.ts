import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Problem } from '../../shared/problems.ts';
import { canonicalText, parseStrictJson } from '../../shared/values/canonicalJson.ts';

function refusal(text: string): Problem {
  try {
    parseStrictJson(text);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error(`This was taken: ${text}`);
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('canonical JSON is RFC 8785', () => {
  test.each([
    // RFC 8785, section 3.2.2 and its appendix B.
    [
      'numbers and escapes',
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    ],
    [
      'keys in UTF-16 code unit order',
      '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew","1":"One","\\ud83d\\ude00":"Emoji","\\u0080":"Control","\\u00f6":"o"}',
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"o","€":"Euro Sign","😀":"Emoji","\ufb33":"Hebrew"}',
    ],
    [
      'integer-like keys and __proto__ are sorted like any other',
      '{"10":1,"9":2,"__proto__":3}',
      '{"10":1,"9":2,"__proto__":3}',
    ],
    ['no Unicode normalisation', '{"\\u0041\\u030a":"\\u00c5"}', '{"A\u030a":"\u00c5"}'],
    ['negative zero is zero', '[-0.0]', '[0]'],
  ])('%s', (_why, input, canonical) => {
    expect(canonicalText(parseStrictJson(input))).toBe(canonical);
  });

  test('the digest of a canonical text is the SHA-256 of its UTF-8 bytes', () => {
    const text = canonicalText(parseStrictJson('{"\\ue000":1,"\\ud83d\\ude00":2}'));
    expect(sha256(text)).toBe('28c95d1bbb2209223307e62f489020e8f9e0cfa16adf2daf6d88127a1e8dd22a');
  });
});

describe('input without a unique canonical form is refused, never repaired', () => {
  test.each([
    ['a key given twice', '{"a":{"b":1,"b":1}}', '/a/b'],
    ['a key given twice, once escaped', '{"a":1,"\\u0061":2}', '/a'],
    ['an integer beyond 2^53-1', '{"n":9007199254740993}', '/n'],
    ['an integer beyond -(2^53-1)', '[0,-9007199254740992]', '/1'],
    ['an integer with an exponent that the canonical form expands', '[1e16]', '/0'],
    ['a very long integer', `[1${'0'.repeat(400)}]`, '/0'],
    ['a number out of the range of a double', '{"x/y":[1e400]}', '/x~1y/0'],
    ['a lone surrogate in a text', '{"a":["\\ud800"]}', '/a/0'],
    ['a lone surrogate in a key', '{"\\udc00":1}', ''],
  ])('%s: 422 not_canonical, with a pointer to it', (_why, input, pointer) => {
    const problem = refusal(input);
    expect(problem.code).toBe('not_canonical');
    expect(problem.extra.errors?.[0]?.path).toBe(pointer);
  });

  test.each(['', '{', '{"a":1,}', '[1]x', '{a:1}', '// c\n1', 'NaN', '01', '\ufeff{}'])(
    '%j is 400 invalid_json',
    (input) => {
      expect(refusal(input).code).toBe('invalid_json');
    },
  );

  test('nesting that could exhaust a stack is refused', () => {
    expect(refusal('['.repeat(200_000) + ']'.repeat(200_000)).code).toBe('invalid_json');
    expect(refusal('{"a":'.repeat(101) + '1' + '}'.repeat(101)).code).toBe('invalid_json');
  });

  test.each(['[6.02214076e23]', '[1e21]', '[9007199254740991]', '[0.1, 1e-300]', '{"a":1,"b":{"a":1}}'])(
    '%s is accepted',
    (input) => {
      expect(parseStrictJson(input)).toEqual(JSON.parse(input));
    },
  );
});
