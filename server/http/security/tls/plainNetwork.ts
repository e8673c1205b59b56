import type { IncomingMessage } from 'node:http';
import { Problem } from '../../../../shared/problems.ts';
import { parseHost } from '../hostHeader.ts';
import { isEncrypted } from '../machineAddresses.ts';
import type { PublicAddress } from '../publicAddress.ts';

/** The HTTPS address of the node; undefined while TLS is off. */
export type TlsAddress = { url: string } | undefined;

/**
 * Whether TLS is on, and a request came from another machine without it. Secrets are refused on such connections, because
 * everyone on the network could read them. The connection of a proxy on this machine counts as the client's own.
 */
export function isOverPlainNetwork(
  request: IncomingMessage,
  tls: TlsAddress,
  publicAddress: PublicAddress,
): boolean {
  if (tls === undefined || isEncrypted(request)) return false;
  return !publicAddress.peerOf(request).loopback && !publicAddress.isSecure(request);
}

/** @throws Problem `tls_required` if a request over a plain connection carries or asks for a secret. */
export function refuseSecrets(request: IncomingMessage, path: string, { url }: { url: string }): void {
  const asksForOne = path.startsWith('/sign-in/') || path === '/invitation';
  if (!asksForOne && request.headers.authorization === undefined) return;
  const { name } = parseHost(request.headers.host);
  const host = name.includes(':') ? `[${name}]` : name;
  throw new Problem(
    'tls_required',
    `Tokens and invitations are accepted over HTTPS only. Use https://${host}:${new URL(url).port} and replace this token or invitation, because others on the network may have read it.`,
  );
}
