import { once } from 'node:events';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import pLimit from 'p-limit';
import { Problem } from '../../../shared/problems.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { READER_LIMITS } from '../../config.ts';
import type { Log } from '../../runtime/log.ts';
import { createServer } from '../../runtime/nodeHttp.ts';
import { StalledReaders } from '../delivery/stalledReaders.ts';
import { answerMalformedRequests } from './malformedRequest.ts';
import { isLoopback, type MachineAddress, machineAddresses, unmappedAddress, urlOf } from './network.ts';

/** The time that running requests have to finish when the node is closed. */
const CLOSE_GRACE_MS = 10_000;
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
export interface NetworkAddress extends MachineAddress {
  url: string;
}

export interface ListenersConfig {
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
  readonly #network = new Map<string, Server>();
  /** The open connections, each with its latest response. */
  readonly #sockets = new Map<Socket, ServerResponse | undefined>();
  /** Connections from the network that are to be closed, because sharing has ended. */
  readonly #leaving = new Set<Socket>();
  readonly #oneAtATime = pLimit(1);
  readonly #closing = new AbortController();
  readonly #stalled = new StalledReaders();
  #stalledTimer: NodeJS.Timeout | undefined;
  #main: Server | undefined;
  #listener: RequestListener = () => {};
  #isShared = false;
  #watching: Promise<void> | undefined;
  #url = '';
  #port = 0;

  constructor(config: ListenersConfig) {
    this.#config = config;
  }

  /** Listens on the configured host. Returns the URL of the node on this machine. */
  async open(listener: RequestListener): Promise<string> {
    this.#listener = listener;
    const { host, port, stallTimeoutMs = READER_LIMITS.stallTimeoutMs } = this.#config;
    this.#main = await this.#listen(host, port);
    const interval = stallTimeoutMs / STALLED_CHECKS;
    this.#stalledTimer = setInterval(() => this.#closeStalled(STALLED_CHECKS), interval).unref();
    this.#port = (this.#main.address() as AddressInfo).port;
    this.#url = urlOf(host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host, this.#port);
    return this.#url;
  }

  /** The addresses at which others can reach the node now; none while it is not shared. */
  get networkAddresses(): NetworkAddress[] {
    if (!this.#isShared) return [];
    const { host } = this.#config;
    const all = this.#addresses();
    const open = isLoopback(host)
      ? all.filter(({ address }) => this.#network.has(address))
      : all.filter(({ address }) => host === '::' || address === host || isAnyOf(host, address));
    return open.map((found) => ({ ...found, url: urlOf(found.address, this.#port) }));
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
      for (const server of this.#network.values()) stopListening(server);
      this.#network.clear();
      for (const socket of this.#sockets.keys()) if (isFromNetwork(socket)) this.#leaving.add(socket);
      setTimeout(() => this.#closeLeaving(), UNSHARE_GRACE_MS).unref();
    });
  }

  /** Stops accepting requests and waits a limited time for running ones. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    clearInterval(this.#stalledTimer);
    this.#closeLeaving();
    const servers = [...this.#network.values(), ...(this.#main ? [this.#main] : [])];
    // Not immediately, so that requests that were just sent still get a response.
    const sweep = setInterval(() => {
      this.#closeIdle();
      this.#closeStalled(CLOSE_STALLED_MS / CLOSE_SWEEP_MS);
    }, CLOSE_SWEEP_MS);
    await Promise.all(servers.map(closeServer));
    clearInterval(sweep);
  }

  /**
   * Closes connections without a running response: those kept alive for a next request, and those that browsers open in
   * advance, which Node does not count as idle.
   */
  #closeIdle(): void {
    for (const [socket, response] of this.#sockets) if (response?.closed ?? true) socket.destroy();
  }

  /** Disconnects readers after this many checks without progress, because they occupy resources. */
  #closeStalled(checks: number): void {
    for (const [socket, response] of this.#sockets) {
      if (this.#stalled.checksWithoutProgress(socket, response) >= checks) socket.destroy();
    }
  }

  #closeLeaving(): void {
    for (const socket of this.#leaving) socket.destroy();
    this.#leaving.clear();
  }

  async #openNetwork(): Promise<void> {
    if (!isLoopback(this.#config.host)) return;
    const opened: string[] = [];
    try {
      for (const { address } of this.#addresses()) {
        if (this.#network.has(address)) continue;
        const server = await this.#listenIfPresent(address);
        if (server === undefined) continue;
        this.#network.set(address, server);
        opened.push(address);
      }
    } catch (error) {
      for (const address of opened) {
        stopListening(this.#network.get(address) as Server);
        this.#network.delete(address);
      }
      throw error;
    }
  }

  /** Returns undefined if the machine no longer has the address. @throws Problem `port_taken` */
  async #listenIfPresent(address: string): Promise<Server | undefined> {
    try {
      return await this.#listen(address, this.#port);
    } catch (error) {
      const code = errorCode(error);
      if (code === 'EADDRNOTAVAIL') return undefined;
      if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
      throw new Problem(
        'port_taken',
        `Another program uses port ${this.#port} on ${address}, so the network cannot reach this node. Stop that program, or start the node on another port.`,
        { cause: error },
      );
    }
  }

  async #listen(host: string, port: number): Promise<Server> {
    const server = createServer(
      // The guards refuse requests without Host, with a problem document.
      { requestTimeout: 1_800_000, headersTimeout: 30_000, requireHostHeader: false },
      (request, response) => {
        this.#sockets.set(request.socket, response);
        this.#listener(request, response);
      },
    );
    server.maxConnections = this.#config.connections ?? READER_LIMITS.connections;
    answerMalformedRequests(server, (socket) => this.#sockets.get(socket as Socket));
    server.on('connection', (socket) => {
      this.#sockets.set(socket, undefined);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#leaving.delete(socket);
      });
    });
    server.listen(port, host);
    await once(server, 'listening');
    return server;
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
    for (const [address, server] of this.#network) {
      if (present.has(address)) continue;
      this.#network.delete(address);
      stopListening(server);
    }
  }
}

/** Returns whether a wildcard host includes this address. */
function isAnyOf(host: string, address: string): boolean {
  return host === '0.0.0.0' && !address.includes(':');
}

function isFromNetwork(socket: Socket): boolean {
  return !isLoopback(unmappedAddress(socket.remoteAddress));
}

/** Stops accepting connections and releases the port. Open connections are kept. */
function stopListening(server: Server): void {
  server.close();
  server.closeIdleConnections();
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(timer);
}
