import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pLimit from 'p-limit';
import { Problem } from '../../../shared/problems.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { READER_LIMITS } from '../../config.ts';
import type { TlsIdentity } from '../../owner/certificate.ts';
import { after, every } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import { createServer, createTlsServer } from '../../runtime/nodeHttp.ts';
import { isLoopback, type MachineAddress, machineAddresses, urlOf } from './addresses.ts';
import { OpenSockets } from './openSockets.ts';

const CLOSE_SWEEP_MS = 50;
/** While the node is closing, a reader is disconnected after this time without progress. */
const CLOSE_STALLED_MS = 1000;
/** A reader is stalled after this many consecutive checks without progress. */
const STALLED_CHECKS = 12;
/** The time that running responses to the network have to finish when sharing ends. */
const UNSHARE_GRACE_MS = 500;
/** How often a shared node checks whether the machine's addresses have changed. */
const ADDRESS_CHECK_MS = 15_000;

/** An address at which the node can be reached from the network. */
interface NetworkAddress extends MachineAddress {
  url: string;
}

interface ListenersConfig {
  host: string;
  port: number;
  clock: Clock;
  log: Log;
  /** Returns the addresses to listen on for the network if the configured host is loopback. */
  addresses?: () => MachineAddress[];
  /** A reader that accepts no data for this time is disconnected. */
  stallTimeoutMs?: number;
  /** The maximum number of open connections per listening address. Further connections are closed at once. */
  connections?: number;
}

/**
 * The listening sockets of the node. The configured host is open all the time. If it is loopback, the node opens another
 * socket for each of the machine's addresses while it is shared, on the same port. A single socket on all addresses would
 * conflict with the loopback one. Closing that first could lose the port, and with it the owner's connection.
 */
export class Listeners {
  readonly #config: ListenersConfig;
  readonly #network = new Map<string, AddressServers>();
  readonly #sockets = new OpenSockets();
  readonly #oneAtATime = pLimit(1);
  readonly #closing = new AbortController();
  #stalledTimer: NodeJS.Timeout | undefined;
  #main: AddressServers | undefined;
  #identity: TlsIdentity | undefined;
  #tlsPort = 0;
  /** Every request asks for it, so it is composed once. */
  #tls: { url: string; fingerprint: string } | undefined;
  #listener: RequestListener = () => {};
  #isShared = false;
  #watching: Promise<void> | undefined;
  #port = 0;

  constructor(config: ListenersConfig) {
    this.#config = config;
  }

  /** Listens on the configured host. Returns the URL of the node on this machine. */
  async open(listener: RequestListener): Promise<string> {
    this.#listener = listener;
    const { host, port, stallTimeoutMs = READER_LIMITS.stallTimeoutMs } = this.#config;
    this.#main = { http: await this.#listen(host, port, undefined) };
    const interval = stallTimeoutMs / STALLED_CHECKS;
    this.#stalledTimer = every(interval, () => this.#sockets.closeStalled(STALLED_CHECKS)).unref();
    this.#port = portOf(this.#main.http);
    return this.#ownUrl(this.#port, 'http');
  }

  #ownUrl(port: number, scheme: 'http' | 'https'): string {
    const { host } = this.#config;
    return urlOf(host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host, port, scheme);
  }

  /** The addresses at which others can reach the node now; none while it is not shared. */
  get networkAddresses(): NetworkAddress[] {
    if (!this.#isShared) return [];
    const { host } = this.#config;
    const all = this.#addresses();
    const open = isLoopback(host)
      ? all.filter(({ address }) => this.#network.has(address))
      : all.filter(({ address }) => host === '::' || address === host || isAnyOf(host, address));
    const at = (scheme: 'http' | 'https', port: number) =>
      open.map((found) => ({ ...found, url: urlOf(found.address, port, scheme) }));
    return [...(this.#identity ? at('https', this.#tlsPort) : []), ...at('http', this.#port)];
  }

  /** The HTTPS URL of the node on this machine and the fingerprint of its certificate; undefined while TLS is off. */
  get tls(): { url: string; fingerprint: string } | undefined {
    return this.#tls;
  }

  /**
   * Listens for HTTPS too, at every address at which the node listens for HTTP, on the next port. If the node may use any
   * port and the next one is taken, another one is used.
   *
   * @throws Problem `port_taken`. Then nothing has changed.
   */
  openTls(identity: TlsIdentity): Promise<void> {
    return this.#oneAtATime(async () => {
      if (this.#identity) return;
      const { host, port } = this.#config;
      const next = this.#port + 1;
      const servers: [AddressServers, Server][] = [];
      try {
        const main = this.#main as AddressServers;
        const first = await this.#listen(host, next, identity).catch((error: unknown) => {
          if (port !== 0) throw portTaken(error, next, host);
          return this.#listen(host, 0, identity);
        });
        servers.push([main, first]);
        this.#tlsPort = portOf(first);
        for (const [address, opened] of this.#network) {
          const server = await this.#listenIfPresent(address, this.#tlsPort, identity);
          if (server) servers.push([opened, server]);
        }
      } catch (error) {
        for (const [, server] of servers) stopListening(server);
        throw error;
      }
      for (const [address, server] of servers) address.https = server;
      this.#identity = identity;
      this.#tls = { url: this.#ownUrl(this.#tlsPort, 'https'), fingerprint: identity.fingerprint };
    });
  }

  /** Stops listening for HTTPS. Running responses are finished. */
  closeTls(): Promise<void> {
    return this.#oneAtATime(() => {
      this.#identity = undefined;
      this.#tls = undefined;
      for (const opened of [this.#main, ...this.#network.values()]) {
        if (opened?.https) stopListening(opened.https);
        delete opened?.https;
      }
    });
  }

  /**
   * Opens the node to the network, on all addresses or on none.
   *
   * @throws Problem `port_taken`. Then nothing has changed.
   */
  share(): Promise<void> {
    return this.#oneAtATime(async () => {
      await this.#openNetwork();
      this.#isShared = true;
      this.#watching ??= this.#watchAddresses();
    });
  }

  /** Like `share`, at startup. If an address cannot be opened, it is logged and retried while the node is shared. */
  resume(): Promise<void> {
    return this.#oneAtATime(async () => {
      this.#isShared = true;
      this.#watching ??= this.#watchAddresses();
      await this.#updateNetwork();
    });
  }

  /** Closes the node to the network. Open connections are closed after a short time for running responses. */
  unshare(): Promise<void> {
    return this.#oneAtATime(() => {
      this.#isShared = false;
      for (const opened of this.#network.values()) stopAll(opened);
      this.#network.clear();
      this.#sockets.markLeaving();
      after(UNSHARE_GRACE_MS, () => this.#sockets.closeLeaving()).unref();
    });
  }

  /** Stops accepting requests and waits a limited time for running ones. */
  async close(graceMs = CLOSE_GRACE_MS): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    clearInterval(this.#stalledTimer);
    this.#sockets.closeLeaving();
    const servers = [...this.#network.values(), ...(this.#main ? [this.#main] : [])].flatMap(serversOf);
    // Not immediately, so that requests that were just sent still get a response.
    const sweep = every(CLOSE_SWEEP_MS, () => {
      this.#sockets.closeIdle();
      this.#sockets.closeStalled(CLOSE_STALLED_MS / CLOSE_SWEEP_MS);
    });
    await Promise.all(servers.map((server) => closeServer(server, graceMs)));
    clearInterval(sweep);
  }

  async #openNetwork(): Promise<void> {
    if (!isLoopback(this.#config.host)) return;
    const opened: string[] = [];
    try {
      for (const { address } of this.#addresses()) {
        if (this.#network.has(address)) continue;
        const http = await this.#listenIfPresent(address, this.#port, undefined);
        if (http === undefined) continue;
        const added: AddressServers = { http };
        this.#network.set(address, added);
        opened.push(address);
        if (!this.#identity) continue;
        const https = await this.#listenIfPresent(address, this.#tlsPort, this.#identity);
        if (https) added.https = https;
      }
    } catch (error) {
      for (const address of opened) {
        stopAll(this.#network.get(address) as AddressServers);
        this.#network.delete(address);
      }
      throw error;
    }
  }

  /** Returns undefined if the machine no longer has the address. @throws Problem `port_taken` */
  async #listenIfPresent(
    address: string,
    port: number,
    identity: TlsIdentity | undefined,
  ): Promise<Server | undefined> {
    try {
      return await this.#listen(address, port, identity);
    } catch (error) {
      if (errorCode(error) === 'EADDRNOTAVAIL') return undefined;
      throw portTaken(error, port, address);
    }
  }

  #listen(host: string, port: number, identity: TlsIdentity | undefined): Promise<Server> {
    const server = newServer(identity);
    server.maxConnections = this.#config.connections ?? READER_LIMITS.connections;
    this.#sockets.follow(server, this.#listener, { isTls: identity !== undefined });
    return startListening(server, host, port, this.#config.log);
  }

  #addresses(): MachineAddress[] {
    return (this.#config.addresses ?? machineAddresses)();
  }

  /** Follows changes of the machine's addresses while the node is shared. */
  async #watchAddresses(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await this.#config.clock.sleep(ADDRESS_CHECK_MS, signal);
      if (signal.aborted) return;
      await this.#oneAtATime(() => this.#updateNetwork());
    }
  }

  async #updateNetwork(): Promise<void> {
    if (!this.#isShared) return;
    try {
      this.#dropLostAddresses();
      await this.#openNetwork();
    } catch (error) {
      this.#config.log.warn({ error }, 'The node is shared, but cannot be reached at all of its addresses.');
    }
  }

  #dropLostAddresses(): void {
    const present = new Set(this.#addresses().map(({ address }) => address));
    for (const [address, opened] of this.#network) {
      if (present.has(address)) continue;
      this.#network.delete(address);
      stopAll(opened);
    }
  }
}

/** Returns whether a wildcard host includes this address. */
function isAnyOf(host: string, address: string): boolean {
  return host === '0.0.0.0' && !address.includes(':');
}

/** The time that running requests have to finish when the node is closed. */
const CLOSE_GRACE_MS = 10_000;
const HANDSHAKE_TIMEOUT_MS = 30_000;
/** Longer than proxies keep an idle connection (nginx: 60 s), so that none sends a request on one that is just closed. */
const KEEP_ALIVE_MS = 65_000;

/** Returns a server for HTTP, or for HTTPS if there is a certificate. It does not listen yet. */
export function newServer(identity: TlsIdentity | undefined): Server {
  // The guards refuse requests without Host, with a problem document.
  const options = {
    requestTimeout: 1_800_000,
    headersTimeout: 30_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requireHostHeader: false,
  };
  if (!identity) return createServer(options);
  return createTlsServer({
    ...options,
    key: identity.key,
    cert: identity.certificate,
    minVersion: 'TLSv1.2',
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  });
}

/** Listens, and logs the errors of a server that listens: one connection could not be accepted. The others go on. */
export async function startListening(server: Server, host: string, port: number, log: Log): Promise<Server> {
  server.listen(port, host);
  await once(server, 'listening');
  server.on('error', (error) => log.error({ error, host, port }, 'A connection could not be accepted.'));
  return server;
}

/** The servers at one address. */
interface AddressServers {
  http: Server;
  https?: Server;
}

function serversOf({ http, https }: AddressServers): Server[] {
  return https ? [http, https] : [http];
}

function stopAll(opened: AddressServers): void {
  for (const server of serversOf(opened)) stopListening(server);
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Returns the problem for a port that cannot be opened, or the error itself if it has another cause. */
function portTaken(error: unknown, port: number, address: string): unknown {
  const code = errorCode(error);
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error;
  return new Problem(
    'port_taken',
    `Another program uses port ${port} on ${address}, so the network cannot reach this node. Stop that program, or start the node on another port.`,
    { cause: error },
  );
}

/** Stops accepting connections and releases the port. Open connections are kept. */
function stopListening(server: Server): void {
  server.close();
  server.closeIdleConnections();
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const timer = after(graceMs, () => server.closeAllConnections());
  await closed;
  clearTimeout(timer);
}
