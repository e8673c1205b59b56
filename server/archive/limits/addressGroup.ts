import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Whom an address stands for: an IPv4 address for itself, also where it is mapped into IPv6; an IPv6 address for its
 * /64, because a device can use any number of addresses in one. Any other text is returned unchanged.
 */
export function addressGroup(address: string): string {
  const bare = address.replace(/%.*$/, '');
  if (!isIPv6(bare)) return bare;
  const plain = ipaddr.process(bare);
  if (plain instanceof ipaddr.IPv4) return plain.toString();
  const network = plain.parts.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}
