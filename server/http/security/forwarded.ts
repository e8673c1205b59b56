import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/** Whether a proxy says that it asks for somebody. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
}

/**
 * The address that the last proxy says it was asked from, by `X-Forwarded-For` or `Forwarded` (RFC 7239). What stands
 * before the last entry was there when the request came to it, and anybody can write that. Undefined where it is no
 * address, and where both headers are there and tell different ones: then one of them came with the request.
 */
export function lastForwardedFor(headers: IncomingHttpHeaders): string | undefined {
  const { 'x-forwarded-for': list, forwarded } = headers;
  const told: (string | undefined)[] = [];
  if (list !== undefined) told.push(addressOf(lastOf(String(list))));
  if (forwarded !== undefined) {
    const pair = lastOf(forwarded)
      .split(';')
      .find((each) => /^\s*for\s*=/i.test(each));
    told.push(addressOf(pair?.slice(pair.indexOf('=') + 1)));
  }
  return told.every((each) => each === told[0]) ? told[0] : undefined;
}

function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1);
}

/** An address with or without quotes, brackets and a port. */
function addressOf(text = ''): string | undefined {
  const plain = text.trim().replace(/^"(.*)"$/, '$1');
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(plain)?.[1] ?? plain.replace(/^([\d.]+):\d+$/, '$1');
  return isIP(address) === 0 ? undefined : address.toLowerCase();
}
