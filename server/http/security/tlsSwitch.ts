import type { IncomingMessage } from 'node:http';
import pLimit from 'p-limit';
import { PAIRED_TOKEN_PREFIX } from '../../../shared/node/pairing.ts';
import type { Settings, SettingsChange } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import { ROUTES } from '../../../shared/routes.ts';
import type { TlsIdentity } from '../../owner/certificate.ts';
import type { SettingsStore } from '../../store/settings.ts';
import { isEncrypted, type PublicAddress, parseHost } from './addresses.ts';
import type { Listeners } from './listeners.ts';
import { ticketOf } from './ticket.ts';

interface TlsSwitchConfig {
  settings: SettingsStore;
  listeners: Pick<Listeners, 'openTls' | 'closeTls'>;
  openIdentity: () => Promise<TlsIdentity>;
  /** Whether TLS stays on whatever the setting says. */
  isForced: boolean;
}

/** Applies the setting `tls`. Listening begins before the setting says so, and ends after. */
export class TlsSwitch {
  readonly #config: TlsSwitchConfig;
  readonly #oneAtATime = pLimit(1);

  constructor(config: TlsSwitchConfig) {
    this.#config = config;
  }

  /** Listens for HTTPS if the node is to do so from its start. @throws Problem `port_taken` */
  async start(): Promise<void> {
    const { settings, isForced } = this.#config;
    if (isForced || settings.current.tls) await this.#open();
  }

  /** Changes settings, and listens for HTTPS or stops doing so if that is among them. @throws Problem `port_taken` */
  changeSettings(change: SettingsChange): Promise<Settings> {
    const { settings, listeners, isForced } = this.#config;
    return this.#oneAtATime(async () => {
      if (change.tls) await this.#open();
      try {
        return await settings.change(change);
      } finally {
        // Also closes what was opened for a change that could not be stored.
        if (!settings.current.tls && !isForced) await listeners.closeTls();
      }
    });
  }

  async #open(): Promise<void> {
    const { listeners, openIdentity } = this.#config;
    await listeners.openTls(await openIdentity());
  }
}

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

/**
 * Refuses to pair, and the tokens of paired browsers, on connections that others on the network can read, also while TLS is
 * off. @throws Problem `tls_required`
 */
export function refuseOpenPairing(
  request: IncomingMessage,
  path: string,
  publicAddress: PublicAddress,
): void {
  const sendsToken = request.headers.authorization?.includes(` ${PAIRED_TOKEN_PREFIX}`) === true;
  if (!sendsToken && !(path === '/pair' && request.method === 'POST')) return;
  if (publicAddress.peerOf(request).loopback || publicAddress.isSecure(request)) return;
  throw new Problem(
    'tls_required',
    'Browsers are paired on the same machine, or over HTTPS. Turn on HTTPS on the page Sharing, and use the https address.',
  );
}

/** @throws Problem `tls_required` if a request over a plain connection carries or asks for a secret. */
export function refuseSecrets(request: IncomingMessage, path: string, { url }: { url: string }): void {
  const asksForOne =
    path.startsWith('/sign-in/') ||
    path === '/invitation' ||
    (path === ROUTES.openSession.path && request.method === 'POST');
  if (!asksForOne && request.headers.authorization === undefined && !ticketOf(request)) return;
  const { name } = parseHost(request.headers.host);
  const host = name.includes(':') ? `[${name}]` : name;
  throw new Problem(
    'tls_required',
    `Tokens and invitations are accepted over HTTPS only. Use https://${host}:${new URL(url).port} and replace this token or invitation, because others on the network may have read it.`,
  );
}
