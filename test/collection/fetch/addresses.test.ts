import { expect, test } from 'vitest';
import { isPrivateAddress } from '../../../server/collection/fetch/connect.ts';

const PRIVATE = [
  '127.0.0.1',
  '127.255.1.2',
  '0.0.0.0',
  '10.1.2.3',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::1',
  '::',
  'fe80::1',
  'fe80::1%eth0',
  'fc00::1',
  'fdff::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.0.0.1',
  '::127.0.0.1',
  '64:ff9b::10.0.0.1',
  '64:ff9b:1::93.184.216.34',
  '100::1',
  '2001::7f00:1',
  '::ffff:0:10.0.0.1',
  '100.127.255.255',
  'fec0::1',
  '2002:7f00:1::',
  'no address',
  '',
];
const PUBLIC = [
  '93.184.216.34',
  '172.32.0.1',
  '172.15.255.255',
  '192.169.0.1',
  '100.128.0.1',
  '2606:2800:220:1::1',
  '::ffff:93.184.216.34',
  '64:ff9b::93.184.216.34',
  '2002:5db8:d822::',
];

test.each(PRIVATE)('%j is not public', (address) => {
  expect(isPrivateAddress(address)).toBe(true);
});
test.each(PUBLIC)('%j is public', (address) => {
  expect(isPrivateAddress(address)).toBe(false);
});
