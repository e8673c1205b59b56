import { BlockList, isIP } from 'node:net';

/** Private, loopback, link-local and other non-public ranges, from IANA's special-purpose registries. */
const NOT_PUBLIC_V4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const;
const NOT_PUBLIC_V6 = [
  ['::', 128],
  ['::1', 128],
  // Local-use translation (RFC 8215), the discard prefix, and Teredo, which can embed any IPv4 address.
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 32],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const;

const notPublicV4 = new BlockList();
for (const [network, prefix] of NOT_PUBLIC_V4) notPublicV4.addSubnet(network, prefix, 'ipv4');
const notPublicV6 = new BlockList();
for (const [network, prefix] of NOT_PUBLIC_V6) notPublicV6.addSubnet(network, prefix, 'ipv6');

/**
 * Returns whether an address is private, loopback, link-local or otherwise not public. IPv6 addresses that embed an
 * IPv4 address (mapped, compatible, NAT64, 6to4) are classified by that address. Returns true for invalid input.
 */
export function isPrivateAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  const family = isIP(bare);
  if (family === 4) return notPublicV4.check(bare, 'ipv4');
  if (family !== 6) return true;
  if (notPublicV6.check(bare, 'ipv6')) return true;
  const embedded = embeddedIPv4(bare);
  return embedded !== undefined && notPublicV4.check(embedded, 'ipv4');
}

function embeddedIPv4(address: string): string | undefined {
  const groups = groupsOf(address);
  const [first = 0, second = 0, third = 0] = groups;
  const startsWithZeros = (count: number) => groups.slice(0, count).every((group) => group === 0);
  if (startsWithZeros(5) && (groups[5] === 0xffff || groups[5] === 0)) return dotted(groups[6], groups[7]);
  if (startsWithZeros(4) && groups[4] === 0xffff && groups[5] === 0) return dotted(groups[6], groups[7]);
  if (first === 0x64 && second === 0xff9b) return dotted(groups[6], groups[7]);
  if (first === 0x2002) return dotted(second, third);
  return undefined;
}

/** Returns the eight groups of an IPv6 address. The WHATWG URL parser brings it into canonical form first. */
function groupsOf(address: string): number[] {
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array<string>(zeros).fill('0'), ...right].map((group) => Number.parseInt(group, 16));
}

function dotted(high = 0, low = 0): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}
