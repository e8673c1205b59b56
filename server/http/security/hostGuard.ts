import type { IncomingMessage } from 'node:http';
import { Problem } from '../../../shared/problems.ts';
import { foreignTarget, hadAbsoluteTarget, parseHost, requireSingleHost } from './hostHeader.ts';
import { isLoopback, isOwnHostname, unmappedAddress } from './machineAddresses.ts';
import type { PublicAddress } from './publicAddress.ts';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export interface HostGuardConfig {
  listenHost: string;
  isShared: () => boolean;
  publicAddress: PublicAddress;
}

/**
 * Returns a function that refuses requests with a foreign host name (DNS rebinding) and writes from pages of other
 * origins. The port is not compared, because the owner may forward ports.
 *
 * @throws Problem `invalid_request`, `unknown_host`, `foreign_origin`, from the returned function.
 */
export function hostGuard(config: HostGuardConfig): (request: IncomingMessage) => void {
  const { listenHost, isShared, publicAddress } = config;
  return (request) => {
    requireSingleHost(request);
    const { method = '', headers, socket } = request;
    const { name } = parseHost(headers.host);
    const isOwn =
      (name !== '' && name === publicAddress.name) ||
      isOwnName(name, socket, { listenHost, isShared: isShared() });
    if (!isOwn && hadAbsoluteTarget(request)) throw foreignTarget();
    if (!isOwn) {
      throw new Problem(
        'unknown_host',
        'The Host header does not name this node. Use one of the node’s own addresses.',
      );
    }
    const { origin } = headers;
    if (!SAFE_METHODS.has(method) && origin !== undefined && !publicAddress.isOwnOrigin(origin, request)) {
      throw new Problem('foreign_origin', 'Pages of other origins may not change anything here.');
    }
  };
}

/** The machine's names and addresses are only valid if the node is reachable from the network. */
function isOwnName(
  name: string,
  { localAddress }: Pick<IncomingMessage['socket'], 'localAddress'>,
  { listenHost, isShared }: { listenHost: string; isShared: boolean },
): boolean {
  if (name === '') return false;
  if (name === 'localhost' || isLoopback(name) || name === listenHost) return true;
  if (isLoopback(listenHost) && !isShared) return false;
  // Listing the machine's addresses is expensive. Most requests name the address that they were sent to.
  return name === unmappedAddress(localAddress) || isOwnHostname(name);
}
