import type { SentRequest } from '../../../shared/source.ts';
import type { Validators } from '../../store/sqlite/collection/validators.ts';

/** The owner's headers over ours, whatever their case; what makes the bytes exact is nobody's to change. */
export function requestHeaders(userAgent: string, own: Record<string, string>): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': userAgent, accept: '*/*' };
  for (const [name, value] of Object.entries(own)) headers[name.toLowerCase()] = value;
  return { ...headers, 'accept-encoding': 'identity' };
}

/** What asks for the bytes only where they are not those of the validators (RFC 9110, section 13.1). */
export function conditionalHeaders({ etag, last_modified }: Validators): Record<string, string> {
  return {
    ...(etag === null ? {} : { 'if-none-match': etag }),
    ...(last_modified === null ? {} : { 'if-modified-since': last_modified }),
  };
}

/** Headers as they were sent, without the values of the owner's own: those may be secrets, and this is published. */
export function redactOwnerHeaders(
  own: Record<string, string>,
  sent: readonly [string, string][],
): SentRequest['headers'] {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  return sent.map(([name, value]) => [name, names.has(name) ? null : value]);
}
