import type { SentRequest } from '../../../shared/collection/retrieval.ts';
import type { Validators } from '../../store/sqlite/collection/validators.ts';

/**
 * Returns the headers of a request, with lowercase names. The given headers override the defaults, except for
 * `accept-encoding`, because the body must arrive without content encoding.
 */
export function requestHeaders(userAgent: string, given: Record<string, string>): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': userAgent, accept: '*/*' };
  for (const [name, value] of Object.entries(given)) headers[name.toLowerCase()] = value;
  return { ...headers, 'accept-encoding': 'identity' };
}

/** Returns the headers of a conditional request (RFC 9110, section 13.1). */
export function conditionalHeaders({ etag, last_modified }: Validators): Record<string, string> {
  return {
    ...(etag === null ? {} : { 'if-none-match': etag }),
    ...(last_modified === null ? {} : { 'if-modified-since': last_modified }),
  };
}

/** Replaces the values of the owner's headers by null. They may be secrets, and sent headers are published. */
export function redactOwnerHeaders(
  ownerHeaders: Record<string, string>,
  sent: readonly [string, string][],
): SentRequest['headers'] {
  const names = new Set(Object.keys(ownerHeaders).map((name) => name.toLowerCase()));
  return sent.map(([name, value]) => [name, names.has(name) ? null : value]);
}
