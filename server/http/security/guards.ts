import type { IncomingMessage } from 'node:http';
import type { Request, Response } from 'express';
import { MAX_PACK_BYTES } from '../../../shared/limits.ts';
import { HAND_IN_PATH, isDataPath } from '../../../shared/node/pages.ts';
import { PAIRED_TOKEN_PREFIX } from '../../../shared/node/pairing.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Access } from '../../../shared/routes/route.ts';
import { ROUTE_SPECS, ROUTES } from '../../../shared/routes.ts';
import { type Budget, secondsUntil } from '../../archive/limits/budgets.ts';
import type { AdmittedWrite, WriteLimits } from '../../archive/limits/writeLimits.ts';
import type { SettingsStore } from '../../store/settings.ts';
import { meterBody } from '../body/requestBody.ts';
import { authorize, hasDoor, identify, mayRead, notShared, type Secrets, type Visitor } from './access.ts';
import {
  foreignTarget,
  hadAbsoluteTarget,
  isLoopback,
  isOwnHostname,
  type PublicAddress,
  parseHost,
  requireSingleHost,
  unknownHost,
  unmappedAddress,
} from './addresses.ts';
import { ticketOf } from './ticket.ts';
import { isOverPlainNetwork, refuseOpenPairing, refuseSecrets } from './tlsSwitch.ts';

/** The checks before every response. */
export interface Guards {
  /** Returns the headers of every response to this request, including refusals. */
  headersFor(request: IncomingMessage, path: string): Readonly<Record<string, string>>;
  /**
   * Checks whether a request may use this path, before any route is looked up.
   *
   * @throws Problem `invalid_request`, `unknown_host`, `foreign_origin`, `not_shared`, `tls_required`
   */
  admit(request: IncomingMessage, path: string): void;
  /**
   * Identifies and authorizes the client.
   *
   * @throws Problem like `authorize`
   */
  allow(request: IncomingMessage, path: string, access: Access): Visitor;
  /**
   * Returns whether a page may contain data of the archive: the client may read it and, while the node is not shared, the
   * page was not opened from another site.
   */
  mayFillPage(request: IncomingMessage): boolean;
}

interface GuardsConfig {
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
  const unshared = { ...SECURITY_HEADERS, ...PRIVATE };
  const shared = { ...SECURITY_HEADERS, ...OPEN_TO_OTHER_ORIGINS };
  const checkHost = hostGuard({ listenHost, isShared, publicAddress: secrets.publicAddress });
  return {
    headersFor(request, path) {
      const { method, headers } = request;
      if (isExtensionCall(request, path)) return openToExtension(headers.origin);
      // The page in which the bookmark was clicked opens it, and sends it its text.
      if (path === HAND_IN_PATH) return { ...SECURITY_HEADERS, 'Cross-Origin-Opener-Policy': 'unsafe-none' };
      if (!isShared() || path.startsWith('/manage') || carriesSecret(request)) return unshared;
      const isRead = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
      return isRead && isData(path) ? shared : SECURITY_HEADERS;
    },
    admit(request, path) {
      checkHost(request, path);
      refuseOpenPairing(request, path, secrets.publicAddress);
      const tls = secrets.tls();
      if (tls && isOverPlainNetwork(request, tls, secrets.publicAddress)) refuseSecrets(request, path, tls);
      if (isShared()) return;
      if (isExtensionCall(request, path)) {
        // A browser asks without the token whether it may send it.
        if (request.method !== 'OPTIONS') requireLocalClient(request, path, secrets);
        return;
      }
      requireLocalClient(request, path, secrets);
      refuseOtherSites(request, path);
    },
    allow(request, path, access) {
      const visitor = identify(request, secrets, { withCookies: !isExtensionCall(request, path) });
      authorize(access, visitor, settings.sharing);
      if (visitor.browser) secrets.pairings.note(visitor.browser);
      return visitor;
    },
    mayFillPage: (request) =>
      (isShared() || !isFromOtherSite(request)) && mayRead(identify(request, secrets), settings.sharing),
  };
}

/**
 * While the node is not shared, clients on the network only learn that it is running, not which paths exist. The owner
 * can open a sign-in link in a browser on another machine, and pair it.
 */
function requireLocalClient(request: IncomingMessage, path: string, secrets: Secrets): void {
  if (path === '/api/health' || path === '/robots.txt' || path.startsWith('/sign-in/')) return;
  if (isPairingPath(path) || secrets.publicAddress.peerOf(request).loopback) return;
  if (isOfInterface(path) && hasDoor(request, secrets)) return;
  const { owner, browser } = identify(request, secrets);
  if (!owner && !browser) throw notShared('The owner does not share this node.');
}

/** Whether a path is of the program of the interface, or of how its pages prove their session. It has no data. */
function isOfInterface(path: string): boolean {
  return !isDataPath(path) || path.startsWith('/assets/') || SESSION_PATHS.has(path);
}

const SESSION_PATHS: ReadonlySet<string> = new Set([
  ROUTES.openSession.path,
  ROUTES.createSessionChallenge.path,
]);

/**
 * While the node is not shared, pages from other sites may not read from it. They may only link to the web interface,
 * whose HTML contains no data. While the node is shared, all pages may read from it without credentials.
 */
function refuseOtherSites(request: IncomingMessage, path: string): void {
  const { method, headers } = request;
  if (!isFromOtherSite(request)) return;
  const opensInterface =
    !isData(path) && !isPairingPath(path) && method === 'GET' && headers['sec-fetch-mode'] === 'navigate';
  if (!opensInterface) throw notShared('This node is private: pages from other sites may not read from it.');
}

/** The addresses of the routes that extensions call. */
const EXTENSION_PATHS = new RegExp(
  `^(?:${Object.values(ROUTE_SPECS)
    .filter(({ access, path }) => access === 'paired' || isPairingPath(path))
    .map(({ path }) => path.replace(/\{\w+\}/g, '[^/]+'))
    .join('|')})$`,
);
const EXTENSION_ORIGIN = /^(?:chrome|moz)-extension:\/\/[\w-]+$/;

function isPairingPath(path: string): boolean {
  return path === '/pair' || path.startsWith('/pair/');
}

/**
 * Whether a browser's extension calls a route that is for it, or asks whether it may. It counts by its token alone: a
 * session of the owner in the same browser is not its own.
 */
function isExtensionCall({ method, headers }: IncomingMessage, path: string): boolean {
  const { origin = '', authorization = '' } = headers;
  if (!EXTENSION_ORIGIN.test(origin) || !EXTENSION_PATHS.test(path)) return false;
  return method === 'OPTIONS' || isPairingPath(path) || authorization.includes(` ${PAIRED_TOKEN_PREFIX}`);
}

/** An extension without permissions for hosts reads an answer only if the answer allows it. */
function openToExtension(origin = ''): Readonly<Record<string, string>> {
  return {
    ...SECURITY_HEADERS,
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Methods': 'GET, POST',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type',
    'Access-Control-Allow-Private-Network': 'true',
    'Access-Control-Expose-Headers': 'Retry-After',
    'Access-Control-Max-Age': '600',
    'Cross-Origin-Resource-Policy': 'cross-origin',
    Vary: 'Origin',
  };
}

/** Whether an answer may be for the sender of this request alone, and not what any visitor gets. */
function carriesSecret(request: IncomingMessage): boolean {
  return request.headers.authorization !== undefined || ticketOf(request) !== undefined;
}

function isFromOtherSite({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return site === 'cross-site' || site === 'same-site';
}

function isData(path: string): boolean {
  return /^\/(api|archive|log|manage|memento|oai|timegate|timemap|sitemap|robots\.txt|sitemap\.xml|witness)(\/|$)/.test(
    path,
  );
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

interface HostGuardConfig {
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
function hostGuard(config: HostGuardConfig): (request: IncomingMessage, path: string) => void {
  const { listenHost, isShared, publicAddress } = config;
  return (request, path) => {
    requireSingleHost(request);
    const { method = '', headers, socket } = request;
    const { name } = parseHost(headers.host);
    const isOwn =
      (name !== '' && name === publicAddress.name) ||
      isOwnName(name, socket, { listenHost, isShared: isShared() });
    if (!isOwn && hadAbsoluteTarget(request)) throw foreignTarget();
    if (!isOwn) throw unknownHost();
    const { origin } = headers;
    if (SAFE_METHODS.has(method) || origin === undefined || isExtensionCall(request, path)) return;
    if (!publicAddress.isOwnOrigin(origin, request)) {
      throw new Problem('foreign_origin', 'Pages from other origins may not change anything here.');
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

/**
 * The policy of the interface's own pages. `upgrade-insecure-requests` is absent because visitors on the LAN use http;
 * inline styles are what the component library writes.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "worker-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join(';');

/**
 * The headers of every response. `Strict-Transport-Security` is absent because a node is reached by http unless a proxy
 * ends TLS before it.
 */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-DNS-Prefetch-Control': 'off',
  'X-Download-Options': 'noopen',
  'X-Frame-Options': 'DENY',
  'X-Permitted-Cross-Domain-Policies': 'none',
  // The filters of old browsers could be turned against a page (OWASP); a policy is what protects it.
  'X-XSS-Protection': '0',
};

/** A POST to the data-pack archive whose client is identified and whose body has not been read. */
interface IncomingWrite {
  visitor: Visitor;
  request: Request;
  response: Response;
}

/**
 * Runs a write if the limits allow it, and reports the remaining budgets to visitors in the response headers.
 *
 * @throws Problem `rate_limited`, `data_cap_reached`, `disk_nearly_full`; any error of the write.
 */
export async function limitWrite<Result>(
  limits: WriteLimits,
  { visitor, request, response }: IncomingWrite,
  write: (admitted: AdmittedWrite) => Promise<Result>,
): Promise<Result> {
  const admission = limits.beginAdmission(visitor);
  meterBody(request, (bytes) => admission.receive(bytes));
  if (request.destroyed) admission.close(0);
  else request.once('close', () => admission.close(bytesReadOf(request)));
  try {
    return await limits.admit(admission, announcedBytes(request), write);
  } finally {
    if (!visitor.owner) response.set(rateLimitHeaders(limits.budgetsOf(visitor), limits.now()));
  }
}

/** Returns how much of an unread body was received, if known. Node itself reads short bodies to their end. */
function bytesReadOf({ complete, headers }: Request): number {
  return complete ? Number(headers['content-length'] ?? 0) : 0;
}

/** No endpoint accepts a larger body. It is refused as too large, not as rate-limited. */
const TOO_LARGE_BYTES = 2 * MAX_PACK_BYTES;

function announcedBytes(request: Request): number {
  const announced = Number(request.headers['content-length'] ?? 0);
  return announced > TOO_LARGE_BYTES ? 0 : announced;
}

/** Integers in structured fields have at most 15 digits (RFC 9651, section 3.3.1). */
const MAX_INTEGER = 999_999_999_999_999;

/** Returns `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), with one item per limit. */
function rateLimitHeaders(budgets: readonly Budget[], now: number): Record<string, string> {
  const integer = (value: number) => Math.min(MAX_INTEGER, Math.max(0, Math.floor(value)));
  const policies = budgets.map(({ limit, counts, quota, windowSeconds }) => {
    const unit = counts === 'bytes' ? ';qu="content-bytes"' : '';
    return `"${limit}";q=${integer(quota)}${unit};w=${windowSeconds}`;
  });
  const states = budgets.map(
    ({ limit, quota, used, resetsAt }) =>
      `"${limit}";r=${integer(quota - used)};t=${secondsUntil(resetsAt, now)}`,
  );
  return { 'RateLimit-Policy': policies.join(', '), RateLimit: states.join(', ') };
}
