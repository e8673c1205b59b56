import { expect, test } from 'vitest';
import { looksPrivate } from '../../renderer/src/pages/sources/AddSource.tsx';
import { isPrivateAddress } from '../../server/collection/fetch/connect.ts';
import { allowsPrivateAddress } from '../../server/collection/sources/privateSources.ts';

const HOSTS = {
  private: [
    '127.0.0.1',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.1',
    '192.168.1.5',
    '169.254.1.1',
    '100.64.0.1',
    '[::1]',
    '[fd00::2]',
    '[fe80::1]',
    'localhost',
    'printer.local',
    'wiki.internal',
    'router.home.arpa',
    'intranet',
  ],
  public: ['example.org', '172.32.0.1', '8.8.8.8', '100.128.0.1', '[2606:4700::1111]', '10.example.org'],
};

test('the form and the node agree on which addresses are private by themselves', () => {
  for (const [kind, hosts] of Object.entries(HOSTS)) {
    for (const host of hosts) {
      const url = `http://${host}:8080/page`;
      expect(looksPrivate(url), url).toBe(kind === 'private');
      expect(allowsPrivateAddress({ url, allow_private: null }, isPrivateAddress), url).toBe(
        kind === 'private',
      );
    }
  }
  expect(looksPrivate('')).toBe(false);
  expect(looksPrivate('https://')).toBe(false);
});
