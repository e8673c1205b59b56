import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/** Returns whether a proxy forwarded the request. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
}

/**
 * Returns the client address reported by the last proxy, in `X-Forwarded-For` or `Forwarded` (RFC 7239). Earlier entries
 * are ignored, because the client can forge them. Returns undefined if the entry is not an address, or if both headers
 * are present and differ: then the client sent one of them.
 */
export function lastForwardedFor(headers: IncomingHttpHeaders): string | undefined {
  const { 'x-forwarded-for': list, forwarded } = headers;
  const reported: (string | undefined)[] = [];
  if (list !== undefined) reported.push(addressOf(lastOf(String(list))));
  if (forwarded !== undefined) {
    const pair = lastOf(forwarded)
      .split(';')
      .find((each) => /^\s*for\s*=/i.test(each));
    reported.push(addressOf(pair?.slice(pair.indexOf('=') + 1)));
  }
  return reported.every((each) => each === reported[0]) ? reported[0] : undefined;
}

function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1);
}

/** Parses an address with or without quotes, brackets and a port. */
function addressOf(text = ''): string | undefined {
  const plain = text.trim().replace(/^"(.*)"$/, '$1');
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(plain)?.[1] ?? plain.replace(/^([\d.]+):\d+$/, '$1');
  return isIP(address) === 0 ? undefined : address.toLowerCase();
}
