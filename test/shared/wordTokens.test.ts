import { expect, test } from 'vitest';
import { wordTokens } from '../../shared/collection/derived.ts';

test.each([
  ['4.10 m, 1,250.00', ['4.10', ' ', 'm', ',', ' ', '1,250.00']],
  ['-0.42 to +5, 2019-01-02', ['-0.42', ' ', 'to', ' ', '+5', ',', ' ', '2019', '-', '01', '-', '02']],
  ['at 12:30.', ['at', ' ', '12:30', '.']],
  ['v1.2b x_1', ['v1', '.', '2b', ' ', 'x_1']],
  ['größer\r\nцена', ['größer', '\r\n', 'цена']],
  ['東京 é', ['東', '京', ' ', 'e\u0301'.normalize()]],
  ['', []],
])('%j is split into words, numbers, white space and other characters', (text, tokens) => {
  expect(wordTokens(text)).toEqual(tokens);
  expect(tokens.join('')).toBe(text);
});
