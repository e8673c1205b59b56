import type { NearbyNode } from '../../../shared/node/peer.ts';
import type { Log } from '../../runtime/log.ts';
import { allPeers } from '../../store/sqlite/node/peers.ts';
import type { Store } from '../../store/store.ts';
import type { Announced, Announcer, FoundNode } from './serviceDiscovery.ts';

export interface NearbyConfig {
  store: Store;
  log: Log;
  /** The verifier key of this node, which does not list itself. */
  ownKey: string;
  /** The UDP port of multicast DNS; tests use another one. */
  port: number;
  /** The IPv4 addresses of this machine on its networks. */
  machineAddresses: () => string[];
  /** The port, the certificate and the IPv4 addresses at which the network reaches this node; undefined if it does not. */
  reachedAt: () => (Omit<Announced, 'key'> & { addresses: string[] }) | undefined;
}

/**
 * Finds nodes on the local network with DNS-SD, and announces this one while it is shared. Nothing is sent or received
 * before either is asked for, and the code is loaded then.
 */
export class Nearby {
  readonly #config: NearbyConfig;
  readonly #closing = new AbortController();
  #announcer: Promise<Announcer> | undefined;
  #discovering: Promise<FoundNode[]> | undefined;

  constructor(config: NearbyConfig) {
    this.#config = config;
  }

  /** Announces this node from now on, unless it is closing. */
  announce(): void {
    if (this.#closing.signal.aborted) return;
    const { store, log, ownKey, port, reachedAt } = this.#config;
    const self = () => {
      const reached = reachedAt();
      if (!reached) return undefined;
      const { addresses, ...where } = reached;
      return { announced: { key: ownKey, ...where }, addresses };
    };
    this.#announcer ??= import('./serviceDiscovery.ts').then(
      (module) => new module.Announcer({ port, store, log, self }),
    );
  }

  /** Withdraws the announcement of this node. */
  async withdraw(): Promise<void> {
    const announcer = this.#announcer;
    this.#announcer = undefined;
    await (await announcer)?.end();
  }

  /** Asks the network for nodes, which takes one and a half seconds. Returns those that answered, without this one. */
  async discover(): Promise<NearbyNode[]> {
    const { store, ownKey } = this.#config;
    this.#discovering ??= this.#discoverNodes().finally(() => {
      this.#discovering = undefined;
    });
    const found = await this.#discovering;
    const peers = new Map(allPeers(store.read).map(({ key, id }) => [key, id]));
    return found
      .filter(({ key }) => key !== ownKey)
      .map((node) => ({ ...node, peer: peers.get(node.key) ?? null }));
  }

  async #discoverNodes(): Promise<FoundNode[]> {
    const { store, log, port, machineAddresses } = this.#config;
    const { discoverNodes } = await import('./serviceDiscovery.ts');
    const { signal } = this.#closing;
    return discoverNodes({ addresses: machineAddresses(), port, clock: store.clock, log, signal });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.withdraw();
    await this.#discovering;
  }
}
