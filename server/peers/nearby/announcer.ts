import type { Log } from '../../runtime/log.ts';
import { randomFraction } from '../../store/randomFraction.ts';
import type { Store } from '../../store/store.ts';
import { MulticastSocket, type Received } from './multicast.ts';
import { type Announced, recordsOf, response, responseTo } from './serviceRecords.ts';

/** Records are sent to one network at most once in this time (RFC 6762, section 6). */
const SEND_EVERY_MS = 1_000;
/** A node waits 20 to 120 ms before it answers, because others answer too (RFC 6762, section 6). */
const MIN_DELAY_MS = 20;
const MORE_DELAY_MS = 100;
/** How often the networks of the machine are compared with those that know the node. */
const ADDRESS_CHECK_MS = 15_000;

export interface AnnouncerConfig {
  port: number;
  store: Pick<Store, 'clock' | 'randomHex'>;
  log: Log;
  /** What to announce now, and at which IPv4 addresses; undefined while the node is not shared. */
  self: () => { announced: Announced; addresses: readonly string[] } | undefined;
}

/** Announces the node on the networks of this machine, and answers queries for nodes (RFC 6762, RFC 6763). */
export class Announcer {
  readonly #config: AnnouncerConfig;
  readonly #ending = new AbortController();
  readonly #sockets = new Map<string, MulticastSocket>();
  /** When the records were last sent to a network. */
  readonly #sentAt = new Map<string, number>();
  readonly #running: Promise<void>;
  #last: Announced | undefined;

  constructor(config: AnnouncerConfig) {
    this.#config = config;
    this.#running = this.#run().catch((error: unknown) =>
      config.log.warn({ error }, 'The node is no longer announced.'),
    );
  }

  /** Withdraws the records, and ends. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#running;
    const announced = this.#last;
    for (const socket of this.#sockets.values())
      if (announced) socket.send(response(recordsOf(announced, socket.address, 0)));
    await Promise.all([...this.#sockets.values()].map((socket) => socket.close()));
  }

  async #run(): Promise<void> {
    const { self, store } = this.#config;
    const { clock } = store;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const now = self();
      const added = await this.#follow(now?.addresses ?? []);
      const isChanged = JSON.stringify(now?.announced) !== JSON.stringify(this.#last);
      this.#last = now?.announced;
      const receivers = isChanged ? [...this.#sockets.values()] : added;
      for (const socket of receivers) this.#announce(socket);
      // Twice, a second apart (RFC 6762, section 8.3).
      await clock.sleep(SEND_EVERY_MS, signal);
      if (signal.aborted) return;
      for (const socket of receivers) this.#announce(socket);
      await clock.sleep(ADDRESS_CHECK_MS, signal);
    }
  }

  /** Opens a socket for each new address, closes those of addresses that are gone, and returns the new ones. */
  async #follow(addresses: readonly string[]): Promise<MulticastSocket[]> {
    const { port, log } = this.#config;
    for (const [address, socket] of this.#sockets) {
      if (addresses.includes(address)) continue;
      this.#sockets.delete(address);
      await socket.close();
    }
    const added: MulticastSocket[] = [];
    for (const address of addresses) {
      if (this.#sockets.has(address)) continue;
      const failed = (error: unknown) => log.info({ error }, 'The node is not announced on a network.');
      try {
        const socket = await MulticastSocket.open(
          { address, port },
          { receive: (received) => void this.#answer(address, received), failed },
        );
        this.#sockets.set(address, socket);
        added.push(socket);
      } catch (error) {
        failed(error);
      }
    }
    return added;
  }

  #announce(socket: MulticastSocket): void {
    const { clock } = this.#config.store;
    const announced = this.#last;
    if (!announced) return;
    this.#sentAt.set(socket.address, clock.now());
    socket.send(response(recordsOf(announced, socket.address)));
  }

  async #answer(address: string, { packet, sender, senderPort }: Received): Promise<void> {
    const { port, self, store } = this.#config;
    const { clock } = store;
    const { signal } = this.#ending;
    if (packet.type !== 'query') return;
    // A simple resolver is answered alone, so its questions must not silence the answers to everyone.
    const isSimple = senderPort !== port;
    // It asks one question. More would only make the answer long, which goes to whatever address the packet names.
    if (isSimple && packet.questions?.length !== 1) return;
    const sent = isSimple ? `${address} alone` : address;
    if (clock.now() - (this.#sentAt.get(sent) ?? 0) < SEND_EVERY_MS) return;
    const announced = self()?.announced;
    const answer = announced && responseTo(packet, announced, address);
    if (!answer) return;
    this.#sentAt.set(sent, clock.now());
    if (isSimple) {
      // It expects its own id and question (RFC 6762, section 6.7).
      const alone = { ...answer, id: packet.id ?? 0, questions: packet.questions ?? [] };
      this.#sockets.get(address)?.send(alone, { address: sender, port: senderPort });
      return;
    }
    await clock.sleep(MIN_DELAY_MS + randomFraction(store) * MORE_DELAY_MS, signal);
    if (!signal.aborted) this.#sockets.get(address)?.send(answer);
  }
}
