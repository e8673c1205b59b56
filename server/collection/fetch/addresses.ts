import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const { IPv4, IPv6, parse } = ipaddr;

/**
 * Networks that are not of the public internet (IANA's special-purpose registries). The list is ours, not the library's
 * `range()`, because that calls networks for documentation reserved, too, and a change of it would change what a node
 * connects to.
 */
const PRIVATE_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map((network) => IPv4.parseCIDR(network));
const PRIVATE_V6 = [
  '::/128',
  '::1/128',
  // For translation within one network (RFC 8215), for discarding, and Teredo, which leads to whatever IPv4 it carries.
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
].map((network) => IPv6.parseCIDR(network));

/** IPv6 networks whose addresses carry an IPv4 address, and the byte at which it begins. */
const CARRIERS = [
  { network: IPv6.parseCIDR('::/96'), at: 12 },
  { network: IPv6.parseCIDR('::ffff:0:0/96'), at: 12 },
  { network: IPv6.parseCIDR('::ffff:0:0:0/96'), at: 12 },
  { network: IPv6.parseCIDR('64:ff9b::/32'), at: 12 },
  { network: IPv6.parseCIDR('2002::/16'), at: 2 },
] as const;

/**
 * Whether an address is private, loopback, link-local or otherwise not of the public internet. IPv6 addresses that carry
 * an IPv4 address (mapped, compatible, translated, NAT64, 6to4) are judged by it. What is no address is not public.
 */
export function isPrivateAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  // The library also reads addresses with fewer or with octal parts, which `isIP` refuses.
  if (isIP(bare) === 0) return true;
  const parsed = parse(bare);
  return parsed instanceof IPv4 ? isPrivateV4(parsed) : isPrivateV6(parsed);
}

function isPrivateV4(address: ipaddr.IPv4): boolean {
  return PRIVATE_V4.some((network) => address.match(network));
}

function isPrivateV6(address: ipaddr.IPv6): boolean {
  if (PRIVATE_V6.some((network) => address.match(network))) return true;
  const carrier = CARRIERS.find(({ network }) => address.match(network));
  if (carrier === undefined) return false;
  return isPrivateV4(new IPv4(address.toByteArray().slice(carrier.at, carrier.at + 4)));
}
