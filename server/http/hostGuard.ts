import type { IncomingMessage } from 'node:http';
import { Problem } from '../../shared/problems.ts';
import { isLoopback, isMachineName, plainAddress } from '../network.ts';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses what reaches this machine under another's name (DNS rebinding), and changes asked for by another origin's
 * page. The port is not compared: a forwarded port is the owner's own doing.
 *
 * @throws Problem `unknown_host`, `foreign_origin`; the function that it gives back does
 */
export function hostGuard(
  listenHost: string,
  isShared: () => boolean,
): (request: Pick<IncomingMessage, 'method' | 'headers' | 'socket'>) => void {
  // Nearly every request says the same Host as the one before; reading it costs as much as routing the request.
  let last: { host: string | undefined; name: string } = { host: undefined, name: '' };
  return ({ method = '', headers: { host, origin }, socket }) => {
    if (host !== last.host) last = { host, name: nameOf(host) };
    if (!isOwnName(last.name, socket, { listenHost, isShared: isShared() })) {
      throw new Problem(
        'unknown_host',
        'The address in Host is none of this node’s names. Use its own address.',
      );
    }
    if (!SAFE_METHODS.has(method) && origin !== undefined && origin !== `http://${host}`) {
      throw new Problem('foreign_origin', 'A page of another origin may change nothing here.');
    }
  };
}

/** The host name within a Host header, lowercase, without port and brackets. */
function nameOf(host: string | undefined): string {
  const url = URL.parse(`http://${host ?? ''}`);
  // A Host that holds more than a name and a port (a path, a user) is no Host.
  if (url === null || url.username !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return '';
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
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
  return name === plainAddress(localAddress) || isMachineName(name);
}
