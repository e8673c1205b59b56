import type { IncomingMessage } from 'node:http';
import type { Access } from '../../../shared/routes/route.ts';
import type { SettingsStore } from '../../store/settings.ts';
import { authorize, identify, notShared, type Secrets, type Visitor } from './access.ts';
import { hostGuard } from './hostGuard.ts';
import { securityHeaders } from './securityHeaders.ts';

/** What stands before every answer. Each is a plain function, so that what is not answered by Express has the same. */
export interface Guards {
  /** The headers of every answer to this request, a refusal too. */
  headersFor(request: IncomingMessage, path: string): Readonly<Record<string, string>>;
  /**
   * Lets a request through to this path, before anyone looks at what is there.
   *
   * @throws Problem `invalid_request`, `unknown_host`, `foreign_origin`, `not_shared`
   */
  admit(request: IncomingMessage, path: string): void;
  /**
   * Who is asking, where they may.
   *
   * @throws Problem as `authorize`
   */
  allow(request: IncomingMessage, access: Access): Visitor;
}

export interface GuardsConfig {
  listenHost: string;
  settings: SettingsStore;
  secrets: Secrets;
}

const PRIVATE = { 'Cross-Origin-Resource-Policy': 'same-origin' };
const OPEN_TO_OTHER_ORIGINS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers': 'Accept, Accept-Datetime, Range, If-None-Match, If-Range, Last-Event-ID',
  'Access-Control-Expose-Headers':
    'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Link, Location, Memento-Datetime, Repr-Digest, Retry-After',
  'Access-Control-Max-Age': '86400',
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

export function createGuards({ listenHost, settings, secrets }: GuardsConfig): Guards {
  const isShared = () => settings.sharing.mode !== 'off';
  const always = securityHeaders();
  const unshared = { ...always, ...PRIVATE };
  const shared = { ...always, ...OPEN_TO_OTHER_ORIGINS };
  const requireOwnHost = hostGuard({ listenHost, isShared, publicAddress: secrets.publicAddress });
  return {
    headersFor({ method }, path) {
      if (!isShared()) return unshared;
      const isRead = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
      return isRead && isData(path) && !path.startsWith('/manage') ? shared : always;
    },
    admit(request, path) {
      requireOwnHost(request);
      if (isShared()) return;
      requireOwnMachine(request, path, secrets);
      requireOwnPage(request, path);
    },
    allow(request, access) {
      const visitor = identify(request, secrets);
      authorize(access, visitor, settings.sharing);
      return visitor;
    },
  };
}

/**
 * While the node is not shared, nobody on the network is told more than that it is up: not what pages or addresses it
 * has either. The owner's own sign-in link is what makes a browser elsewhere the owner's.
 */
function requireOwnMachine(request: IncomingMessage, path: string, secrets: Secrets): void {
  if (path === '/api/health' || path.startsWith('/sign-in/')) return;
  if (secrets.publicAddress.peerOf(request).loopback) return;
  if (!identify(request, secrets).owner) throw notShared('The owner does not share this node.');
}

/**
 * While the node is not shared, no page of another site may look into it; the empty shell of the interface alone may
 * be opened by following a link. While it is shared, reading is open to pages everywhere, without credentials.
 */
function requireOwnPage({ method, headers }: IncomingMessage, path: string): void {
  const site = headers['sec-fetch-site'];
  if (site !== 'cross-site' && site !== 'same-site') return;
  const opensShell = !isData(path) && method === 'GET' && headers['sec-fetch-mode'] === 'navigate';
  if (!opensShell) throw notShared('This node is private: a page of another site may not look into it.');
}

function isData(path: string): boolean {
  return /^\/(api|archive|manage|memento|oai|timegate|timemap)(\/|$)/.test(path);
}
