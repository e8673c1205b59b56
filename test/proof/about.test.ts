import { expect, test } from 'vitest';
import { aboutWords } from '../../shared/proof/words.ts';

test('a title can neither be taken for another part nor turn the others around', () => {
  const about = { subject: 'pack pk_1', at: '2026-01-01T00:00:00.000Z', sha256: null, key: 'node+1+A' };
  expect(aboutWords({ ...about, name: 'T", 2019, key other\u202e\n' })).toBe(
    'pack pk_1, "T’, 2019, key other\\u{202e}\\n", 2026-01-01T00:00:00.000Z, no object, key node+1+A',
  );
});

test('neither can what somebody recorded in the place of a number, a time or a digest', () => {
  const key = `node+0123abcd+${'A'.repeat(44)}`;
  const lie = `1, "T", 2020-01-01T00:00:00.000Z, SHA-256 ${'a'.repeat(64)}, key ${key}; 16 claims hold`;
  const about = {
    subject: 'event 2',
    name: 'T',
    at: '2026-01-01T00:00:00.000Z',
    sha256: 'b'.repeat(64),
    key,
  };
  expect(aboutWords(about)).toBe(
    `event 2, "T", 2026-01-01T00:00:00.000Z, SHA-256 ${'b'.repeat(64)}, key ${key}`,
  );
  for (const subject of ['pack pk_0a', 'finding fi_0a of event 2'])
    expect(aboutWords({ ...about, subject })).toMatch(new RegExp(`^${subject}, "T"`));
  const quoted = JSON.stringify(lie.replaceAll('"', '’'));
  expect(aboutWords({ ...about, subject: lie })).toMatch(/^"1, ’T’, 2020/);
  expect(aboutWords({ ...about, at: lie })).toContain(`event 2, "T", ${quoted}, SHA-256 b`);
  expect(aboutWords({ ...about, sha256: lie })).toContain(`SHA-256 ${quoted}, key node`);
  expect(aboutWords({ ...about, key: `x,key+${key}` })).toMatch(/key "x,key/);
});

test('nor signs that look like the marks of a quotation, or like nothing', () => {
  const about = { subject: 'pack pk_1', at: '2026-01-01T00:00:00.000Z', sha256: null, key: 'node+1+A' };
  for (const mark of ['ʺ', 'ˮ', '״', '˝', "''", '’’', '′′', '❞', '〃', '🙷', '”', '＂', `'"`])
    expect(aboutWords({ ...about, name: `Fees${mark}, 2019` })).toContain('"Fees’, 2019", 2026');
  for (const blank of ['\u2800', '\u3164', '\uffa0', '\u115f', '\u034f', '\u200b'])
    expect(aboutWords({ ...about, name: `A${blank}B` })).toContain(
      `"A\\u{${blank.charCodeAt(0).toString(16)}}B"`,
    );
  for (const name of ["Zoë's “é”", 'O’Neil', '10 % ❤️', '数据'])
    expect(aboutWords({ ...about, name })).toContain(`"${name.replace(/[“”]/g, '’')}"`);
});

test('a name beside a key has the letters of addresses only', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const about = { subject: 'entry 1', name: 'T', at, sha256: null };
  const key = `node.example/log+0123abcd+${'A'.repeat(44)}`;
  expect(aboutWords({ ...about, key })).toMatch(new RegExp(`, key ${key.replaceAll('+', '\\+')}$`));
  for (const sign of ['\ufe62', ';', '\u2800', ',', 'е'])
    expect(aboutWords({ ...about, key: `trusted${sign}${key}` })).toContain(`key "trusted`);
});
