import { expect, test } from 'vitest';
import { parsePeerLink, peerLink } from '../../shared/node/peer.ts';

const KEY = `node-1.local/strongroom+0a0b0c0d+${'A+/'.repeat(14)}A=`;

test('a link that was written is read again, with and without a certificate', () => {
  for (const tls_fingerprint of [undefined, 'ab'.repeat(32)])
    for (const url of [
      'http://192.168.1.20:7717',
      'https://[fd00::2]:7718',
      'https://archive.example/node',
    ]) {
      const link = { url, key: KEY, ...(tls_fingerprint ? { tls_fingerprint } : {}) };
      expect(parsePeerLink(` ${peerLink(link)}\n`)).toEqual(link);
    }
});

test('other text is not a link', () => {
  for (const text of [
    '',
    'http://192.168.1.20:7717',
    'http://192.168.1.20:7717/sharing#invitation-1234',
    `http://192.168.1.20:7717/packs#key=${KEY}`,
    `javascript:alert(1)/sharing#key=${KEY}`,
  ])
    expect(parsePeerLink(text)).toBeUndefined();
});

test('a fingerprint that cannot be read is not taken for none', () => {
  expect(parsePeerLink(`https://192.168.1.20:7718/sharing#key=${KEY}&tls=AB:CD`)).toMatchObject({
    tls_fingerprint: 'AB:CD',
  });
});

test('a link has nothing but the address, the key and the fingerprint', () => {
  expect(peerLink({ url: 'http://192.168.1.20:7717', key: 'n+1+a=' })).toBe(
    'http://192.168.1.20:7717/sharing#key=n%2B1%2Ba%3D',
  );
});
