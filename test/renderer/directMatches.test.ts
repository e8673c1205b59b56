import { expect, test } from 'vitest';
import { directMatches, watchableAddress } from '../../renderer/src/components/layout/Palette.tsx';

const ORIGIN = 'http://127.0.0.1:7717';
const digits = '0123456789abcdef'.repeat(4);
const targets = (text: string) => directMatches(text, ORIGIN).map(({ to }) => to);

test('ids, digests, entries, paths and addresses are recognised within surrounding text', () => {
  expect(targets(` pk_${digits.slice(0, 20)} `)).toEqual([`/packs/pk_${digits.slice(0, 20)}`]);
  expect(targets(`st_${digits.slice(0, 20)}`)).toEqual([`/studies/st_${digits.slice(0, 20)}`]);
  expect(targets(`so_${digits.slice(0, 20)}`)).toEqual([`/sources/so_${digits.slice(0, 20)}`]);
  expect(targets(`SHA256:${digits.toUpperCase()}`)).toEqual([
    `/packs/pk_${digits.slice(0, 20)}`,
    `/timeline?q=${digits}`,
  ]);
  expect(targets('#42')).toEqual(['/ledger?from=42']);
  expect(targets('biology/birds')).toEqual(['/nodes/biology/birds']);
  expect(targets(`${ORIGIN}/packs?q=gulls`)).toEqual(['/packs?q=gulls']);
  expect(targets('https://example.org/a?b=c')).toEqual([
    '/sources?q=https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc',
    '/timeline?q=https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc',
  ]);
});

test('plain words have no direct match', () => {
  for (const words of ['', 'gulls at noon', 'pk_123', '0', 'javascript:alert(1)', digits.slice(1)]) {
    expect(targets(words)).toEqual([]);
  }
});

test('an address with or without its scheme can be watched, a page of this interface and plain words cannot', () => {
  const watchable = (text: string) => watchableAddress(text, ORIGIN);
  for (const address of ['https://example.org/a?b=c', 'http://wiki/', 'example.org', 'example.org:8080/a'])
    expect(watchable(` ${address} `), address).toBe(address);
  for (const text of ['', 'gulls at noon', 'gulls', '42', `${ORIGIN}/packs`, 'javascript:alert(1)', 'a/b'])
    expect(watchable(text), text).toBeUndefined();
});
