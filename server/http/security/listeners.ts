import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import pLimit from 'p-limit';
import type { Clock } from '../../../shared/clock.ts';
import { Problem } from '../../../shared/problems.ts';
import { READER_LIMITS } from '../../config.ts';
import type { Log } from '../../runtime/log.ts';
import { StalledReaders } from '../delivery/stalledReaders.ts';
import { answerMalformedRequests } from './malformedRequest.ts';
import { isLoopback, type MachineAddress, machineAddresses, unmappedAddress, urlOf } from './network.ts';

/** Requests that run when the node is closed have this long to finish. */
const CLOSE_GRACE_MS = 10_000;
const CLOSE_SWEEP_MS = 50;
/** When the node is closed, a reader that takes nothing for so long is not waited for. */
const CLOSE_STALLED_MS = 1000;
/** A reader is stalled that has taken nothing at so many looks in a row. */
const LOOKS = 12;
/** Answers that are on their way to the network when sharing ends have this long. */
const CUT_GRACE_MS = 500;
/** How often a shared node looks whether the machine has come to another network. */
const LOOK_AGAIN_MS = 15_000;

/** An address that the node is reached at from the network. */
export interface NetworkAddress extends MachineAddress {
  url: string;
}

export interface ListenersConfig {
  host: string;
  port: number;
  clock: Clock;
  log: Log;
  /** What is listened on for the network where the configured host is loopback. */
  addresses?: () => MachineAddress[];
  /** A reader that takes no byte of its answer for so long is cut off. */
  stallTimeoutMs?: number;
  /** So many connections are open at once on each address that is listened on; more are closed unanswered. */
  connections?: number;
}

/**
 * Where the node listens. The configured host is listened on from start to end. Where that is loopback, the network
 * gets listeners of its own while the node is shared: one for each of the machine's addresses, on the same port. One
 * on every address at once would contend with the loopback one for the port, and closing that to make way would leave
 * the owner's window without a node if the port were lost in between.
 */
export class Listeners {
  readonly #config: ListenersConfig;
  readonly #network = new Map<string, Server>();
  /** Connections that are open, each with what was last answered on it, or is being answered. */
  readonly #sockets = new Map<Socket, ServerResponse | undefined>();
  /** Connections from the network that sharing has ended for. */
  readonly #leaving = new Set<Socket>();
  readonly #oneAtATime = pLimit(1);
  readonly #closing = new AbortController();
  readonly #stalled = new StalledReaders();
  #looking: NodeJS.Timeout | undefined;
  #main: Server | undefined;
  #answer: RequestListener = () => {};
  #isShared = false;
  #watching: Promise<void> | undefined;
  #url = '';
  #port = 0;

  constructor(config: ListenersConfig) {
    this.#config = config;
  }

  /** Opens the configured host; answers with the address of the node on this machine. */
  async open(answer: RequestListener): Promise<string> {
    this.#answer = answer;
    const { host, port, stallTimeoutMs = READER_LIMITS.stallTimeoutMs } = this.#config;
    this.#main = await this.#listen(host, port);
    this.#looking = setInterval(() => this.#cutStalled(LOOKS), stallTimeoutMs / LOOKS).unref();
    this.#port = (this.#main.address() as AddressInfo).port;
    this.#url = urlOf(host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host, this.#port);
    return this.#url;
  }

  /** The addresses that others reach the node at now; none while it is not shared. */
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
   * Lets the network in, all of it or none.
   *
   * @throws Problem `port_taken`; nothing is open then that was not before.
   */
  share(): Promise<void> {
    return this.#oneAtATime(async () => {
      await this.#openNetwork();
      this.#isShared = true;
      this.#watching ??= this.#watchAddresses();
    });
  }

  /** As `share`, at start: what cannot be opened is told to the log and tried again as long as the node is shared. */
  resume(): Promise<void> {
    return this.#oneAtATime(async () => {
      this.#isShared = true;
      this.#watching ??= this.#watchAddresses();
      await this.#lookAgain();
    });
  }

  /** Shuts the network out again. Connections from there are cut once the answers on their way are sent. */
  unshare(): Promise<void> {
    return this.#oneAtATime(() => {
      this.#isShared = false;
      for (const server of this.#network.values()) stopListening(server);
      this.#network.clear();
      for (const socket of this.#sockets.keys()) if (isFromNetwork(socket)) this.#leaving.add(socket);
      setTimeout(() => this.#cut(), CUT_GRACE_MS).unref();
    });
  }

  /** Takes no more requests and waits for those that run, within bounds. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    clearInterval(this.#looking);
    this.#cut();
    const servers = [...this.#network.values(), ...(this.#main ? [this.#main] : [])];
    // Not at once: what was sent just before is heard and answered.
    const sweep = setInterval(() => {
      this.#cutIdle();
      this.#cutStalled(CLOSE_STALLED_MS / CLOSE_SWEEP_MS);
    }, CLOSE_SWEEP_MS);
    await Promise.all(servers.map(closeServer));
    clearInterval(sweep);
  }

  /**
   * Cuts connections on which nothing is answered: those kept for a next request that never comes, and those that
   * browsers open ahead of a first one, which Node counts as busy.
   */
  #cutIdle(): void {
    for (const [socket, answer] of this.#sockets) if (answer?.closed ?? true) socket.destroy();
  }

  /** Cuts readers that have taken nothing at so many looks: what is made for them would be held as long as they like. */
  #cutStalled(looks: number): void {
    for (const [socket, answer] of this.#sockets) {
      if (this.#stalled.checksWithoutProgress(socket, answer) >= looks) socket.destroy();
    }
  }

  #cut(): void {
    for (const socket of this.#leaving) socket.destroy();
    this.#leaving.clear();
  }

  async #openNetwork(): Promise<void> {
    if (!isLoopback(this.#config.host)) return;
    const opened: string[] = [];
    try {
      for (const { address } of this.#addresses()) {
        if (this.#network.has(address)) continue;
        const server = await this.#listenIfThere(address);
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

  /** Undefined where the address went away between being read and being opened. @throws Problem `port_taken` */
  async #listenIfThere(address: string): Promise<Server | undefined> {
    try {
      return await this.#listen(address, this.#port);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'EADDRNOTAVAIL') return undefined;
      if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
      throw new Problem(
        'port_taken',
        `Port ${this.#port} of ${address} is taken by another program, so the network cannot reach this node. End that program, or start the node with another port.`,
        { cause: error },
      );
    }
  }

  async #listen(host: string, port: number): Promise<Server> {
    const server = createServer(
      // A request without Host is answered by the guards, with a problem.
      { requestTimeout: 1_800_000, headersTimeout: 30_000, requireHostHeader: false },
      (request, response) => {
        this.#sockets.set(request.socket, response);
        this.#answer(request, response);
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

  /** A machine that moves to another network gets other addresses; the node follows while it is shared. */
  async #watchAddresses(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await this.#config.clock.sleep(LOOK_AGAIN_MS, signal);
      if (signal.aborted) return;
      await this.#oneAtATime(() => this.#lookAgain());
    }
  }

  async #lookAgain(): Promise<void> {
    if (!this.#isShared) return;
    try {
      this.#dropLostAddresses();
      await this.#openNetwork();
    } catch (error) {
      this.#config.log.warn(
        { error },
        'The node is shared, and the network cannot reach all of its addresses.',
      );
    }
  }

  #dropLostAddresses(): void {
    const there = new Set(this.#addresses().map(({ address }) => address));
    for (const [address, server] of this.#network) {
      if (there.has(address)) continue;
      this.#network.delete(address);
      stopListening(server);
    }
  }
}

/** Whether a host that stands for every address of a family stands for this one. */
function isAnyOf(host: string, address: string): boolean {
  return host === '0.0.0.0' && !address.includes(':');
}

function isFromNetwork(socket: Socket): boolean {
  return !isLoopback(unmappedAddress(socket.remoteAddress));
}

/** No new connection is taken from here on, and the port is free at once; connections that are open go on. */
function stopListening(server: Server): void {
  server.close();
  server.closeIdleConnections();
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(cut);
}
