/**
 * Returns the group that an address is counted under: an IPv4 address itself (also if mapped to IPv6), or the /64 network
 * of an IPv6 address, because a device can use any address in its /64.
 */
export function addressGroup(address: string): string {
  const plain = address.toLowerCase().replace(/%.*$/, '');
  if (!plain.includes(':')) return plain;
  const groups = expand(plain);
  const [high, low] = [groups[6] ?? 0, groups[7] ?? 0];
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** Returns the eight groups of an IPv6 address as numbers. */
function expand(address: string): number[] {
  const [before = '', after] = withoutDots(address).split('::', 2);
  const head = groupsOf(before);
  const tail = after === undefined ? [] : groupsOf(after);
  const missing = Math.max(0, 8 - head.length - tail.length);
  return [...head, ...Array<number>(missing).fill(0), ...tail];
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** Converts an embedded IPv4 address in the last 32 bits to hex (RFC 4291, section 2.2). */
function withoutDots(address: string): string {
  const [whole, a, b, c, d] = (/(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address) ?? []).map(Number);
  if (whole === undefined) return address;
  const [high, low] = [((a ?? 0) << 8) | (b ?? 0), ((c ?? 0) << 8) | (d ?? 0)];
  return `${address.slice(0, address.lastIndexOf(':') + 1)}${high.toString(16)}:${low.toString(16)}`;
}
