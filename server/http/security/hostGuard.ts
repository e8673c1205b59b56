import type { IncomingMessage } from 'node:http';
import { Problem } from '../../../shared/problems.ts';
import { foreignTarget, hadAbsoluteTarget, parseHost, requireSingleHost } from './hostHeader.ts';
import { isLoopback, isOwnHostname, unmappedAddress } from './network.ts';
import type { PublicAddress } from './publicAddress.ts';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export interface HostGuardConfig {
  listenHost: string;
  isShared: () => boolean;
  publicAddress: PublicAddress;
}

/**
 * Refuses what reaches this machine under another's name (DNS rebinding), and changes asked for by another origin's
 * page. The port is not compared: a forwarded port is the owner's own doing.
 *
 * @throws Problem `invalid_request`, `unknown_host`, `foreign_origin`; the function that it gives back does
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
        'The address in Host is none of this node’s names. Use its own address.',
      );
    }
    const { origin } = headers;
    if (!SAFE_METHODS.has(method) && origin !== undefined && !publicAddress.isOwnOrigin(origin, request)) {
      throw new Problem('foreign_origin', 'A page of another origin may change nothing here.');
    }
  };
}

/** On the network the node is reached by the machine's own names and addresses; on loopback alone it has none of them. */
function isOwnName(
  name: string,
  { localAddress }: Pick<IncomingMessage['socket'], 'localAddress'>,
  { listenHost, isShared }: { listenHost: string; isShared: boolean },
): boolean {
  if (name === '') return false;
  if (name === 'localhost' || isLoopback(name) || name === listenHost) return true;
  if (isLoopback(listenHost) && !isShared) return false;
  // To list all of the machine's addresses costs more than answering does; most name the one that they came to.
  return name === unmappedAddress(localAddress) || isOwnHostname(name);
}
