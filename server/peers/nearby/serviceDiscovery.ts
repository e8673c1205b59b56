import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';
import {
  type Answer,
  decode,
  encode,
  type Packet,
  type Question,
  type SrvData,
  type StringAnswer,
  type TxtData,
} from 'dns-packet';
import { type NearbyNode, nearbyNodeSchema } from '../../../shared/node/peer.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import { keyNameOf } from '../../ledger/nodeKey.ts';
import { guarded, inNextTurn, RepeatedWork, yieldToEventLoop } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import { randomFraction, type Store } from '../../store/store.ts';

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
  readonly #work: RepeatedWork;
  readonly #sockets = new Map<string, MulticastSocket>();
  /** When the records were last sent to a network. */
  readonly #sentAt = new Map<string, number>();
  #last: Announced | undefined;

  constructor(config: AnnouncerConfig) {
    this.#config = config;
    this.#work = new RepeatedWork(config.store.clock);
    this.#work.start(
      () => this.#announceChanges(),
      ADDRESS_CHECK_MS,
      (error) => config.log.warn({ error }, 'The node could not be announced. It will be tried again.'),
    );
  }

  /** Withdraws the records, and ends. */
  async end(): Promise<void> {
    await this.#work.close();
    const announced = this.#last;
    for (const socket of this.#sockets.values())
      if (announced) socket.send(response(recordsOf(announced, socket.address, 0)));
    await Promise.all([...this.#sockets.values()].map((socket) => socket.close()));
  }

  async #announceChanges(): Promise<void> {
    const { self, store } = this.#config;
    const { clock } = store;
    const { signal } = this.#work;
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
          { receive: (received) => this.#answer(address, received), failed },
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
    const { signal } = this.#work;
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

/** The DNS-SD service of nodes (RFC 6763). */
const SERVICE = '_strongroom._tcp.local';
/** With this name a browser of services lists their types (RFC 6763, section 9). */
const ALL_SERVICES = '_services._dns-sd._udp.local';
/** Records live for two minutes (RFC 6762, section 10). 0 withdraws them. */
const TTL_SECONDS = 120;

/** What a node announces. It has no secret, and nothing about the machine. */
export interface Announced {
  key: string;
  port: number;
  /** The SHA-256 of the certificate; undefined if the node does not serve HTTPS. */
  tlsFingerprint: string | undefined;
}

/** A node that was found, without what only this archive knows about it. */
export type FoundNode = Omit<NearbyNode, 'peer'>;

/** The name of a node in DNS: the first label of its own name. */
function labelOf(key: string): string {
  const [first = ''] = keyNameOf(key).split('.', 1);
  return first.replace(/[^a-z0-9-]/gi, '-').slice(0, 63);
}

/**
 * Returns the records of a node at one of its addresses. A browser reads them from one packet; others ask for each.
 *
 * @param ttl 0 if the node is no longer shared
 */
export function recordsOf(
  { key, port, tlsFingerprint }: Announced,
  address: string,
  ttl = TTL_SECONDS,
): [pointer: StringAnswer, ...others: Answer[]] {
  const instance = `${labelOf(key)}.${SERVICE}`;
  const target = `${labelOf(key)}.local`;
  const text = ['txtvers=1', `key=${key}`, ...(tlsFingerprint ? [`tls=${tlsFingerprint}`] : [])];
  return [
    { type: 'PTR', name: SERVICE, ttl, data: instance },
    { type: 'SRV', name: instance, ttl, flush: true, data: { port, target, priority: 0, weight: 0 } },
    { type: 'TXT', name: instance, ttl, flush: true, data: text },
    { type: 'A', name: target, ttl, flush: true, data: address },
  ];
}

/** Returns the response to a query, or undefined if it asks for nothing that the node has, or knows the answer. */
export function responseTo(query: Packet, announced: Announced, address: string): Packet | undefined {
  const records = recordsOf(announced, address);
  const [pointer] = records;
  const type = { type: 'PTR', name: ALL_SERVICES, ttl: TTL_SECONDS, data: SERVICE } as const;
  const answers = [type, ...records].filter((record) =>
    query.questions?.some((asked) => isFor(asked, record)),
  );
  const isKnown = query.answers?.some(
    (known) =>
      known.type === 'PTR' && isSameName(known.data, pointer.data) && (known.ttl ?? 0) >= TTL_SECONDS / 2,
  );
  const left = isKnown ? answers.filter((answer) => answer !== pointer) : answers;
  if (left.length === 0) return undefined;
  const additionals = left.includes(pointer) ? records.filter((record) => !left.includes(record)) : [];
  return response(left, additionals);
}

/** A response, which says that its sender has the authority for the records. */
export function response(answers: Answer[], additionals: Answer[] = []): Packet {
  return { type: 'response', id: 0, flags: 0x0400, answers, additionals };
}

function isFor({ name, type }: Question, record: Answer): boolean {
  return isSameName(name, record.name) && (type === record.type || (type as string) === 'ANY');
}

function isSameName(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

/**
 * Reads the nodes that a packet announces. A node announces itself only: its address is the one that sent the packet, and
 * it must be among the records. Everything else in the packet is ignored.
 */
function nodesIn({ answers = [], additionals = [] }: Packet, sender: string): FoundNode[] {
  const records = [...answers, ...additionals];
  const pointers = records.filter((record) => record.type === 'PTR' && isSameName(record.name, SERVICE));
  return pointers.flatMap((pointer) => {
    if (pointer.type !== 'PTR' || !pointer.ttl) return [];
    const service = dataOf<SrvData>(records, 'SRV', pointer.data);
    const text = dataOf<TxtData>(records, 'TXT', pointer.data);
    if (!service || !text) return [];
    const isOwn = records.some(
      (record) => record.type === 'A' && isSameName(record.name, service.target) && record.data === sender,
    );
    const found = isOwn ? readNode(sender, service.port, textValues(text)) : undefined;
    return found ? [found] : [];
  });
}

function dataOf<Data>(records: readonly Answer[], type: 'SRV' | 'TXT', name: string): Data | undefined {
  const found = records.find((record) => record.type === type && isSameName(record.name, name));
  return found && 'data' in found ? (found.data as Data) : undefined;
}

/** Reads the `name=value` strings of a TXT record. The first of a name counts (RFC 6763, section 6.4). */
function textValues(data: TxtData): Map<string, string> {
  const values = new Map<string, string>();
  for (const part of Array.isArray(data) ? data : [data]) {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(part.toString()) ?? [];
    if (!values.has(name)) values.set(name, value);
  }
  return values;
}

function readNode(address: string, port: number, values: Map<string, string>): FoundNode | undefined {
  const key = values.get('key') ?? '';
  const tls_fingerprint = values.get('tls') ?? null;
  const url = `${tls_fingerprint === null ? 'http' : 'https'}://${address}:${port}`;
  const found = { name: keyNameOf(key), url, key, tls_fingerprint };
  return nearbyNodeSchema.omit({ peer: true }).safeParse(found).data;
}

/** A node answers within 120 ms, but not twice within a second. So the second question reaches those that were silent. */
const ASK_AGAIN_MS = 1_000;
const WAIT_MS = 500;
/** Anyone on the network can answer, so what is listed is bounded. */
const MAX_NODES = 100;
const MAX_NODES_OF_SENDER = 8;

export interface Discovery {
  /** The IPv4 addresses of this machine on its networks. */
  addresses: readonly string[];
  port: number;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/** Asks the networks of this machine for nodes, and returns those that answered within one and a half seconds. */
export async function discoverNodes({
  addresses,
  port,
  clock,
  log,
  signal,
}: Discovery): Promise<FoundNode[]> {
  const found = new Map<string, FoundNode>();
  const bySender = new Map<string, number>();
  const receive = ({ packet, sender }: Received) => {
    for (const node of nodesIn(packet, sender)) {
      const id = `${node.url} ${node.key}`;
      const ofSender = bySender.get(sender) ?? 0;
      const isFull = found.size >= MAX_NODES || ofSender >= MAX_NODES_OF_SENDER;
      if (found.has(id) || isFull) continue;
      bySender.set(sender, ofSender + 1);
      found.set(id, node);
    }
  };
  const failed = (error: unknown) => log.info({ error }, 'A network could not be asked for nodes.');
  const opened = await Promise.allSettled(
    addresses.map((address) => MulticastSocket.open({ address, port }, { receive, failed })),
  );
  const sockets = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  for (const each of opened) if (each.status === 'rejected') failed(each.reason);
  if (sockets.length === 0) return [];
  try {
    const ask = () => {
      for (const socket of sockets)
        socket.send({ type: 'query', id: 0, questions: [{ type: 'PTR', name: SERVICE, class: 'IN' }] });
    };
    ask();
    await clock.sleep(ASK_AGAIN_MS, signal);
    if (!signal.aborted) ask();
    await clock.sleep(WAIT_MS, signal);
    // If the process was held up, the timer is over before what arrived meanwhile was read.
    await yieldToEventLoop();
  } finally {
    await Promise.all(sockets.map((socket) => socket.close()));
  }
  return [...found.values()].sort((left, right) => left.url.localeCompare(right.url));
}

/** The group of multicast DNS (RFC 6762, section 3). */
const GROUP = '224.0.0.251';
/** The largest packet of multicast DNS (RFC 6762, section 17). */
const MAX_PACKET_BYTES = 9_000;
/** The decoder allocates as many records as the packet claims, before it reads any. */
const MAX_RECORDS = 256;
const HEADER_BYTES = 12;

/** The network and the port of a multicast DNS socket. */
interface MulticastPlace {
  /** An IPv4 address of this machine, on the network in question. */
  address: string;
  /** 5353, except in tests. */
  port: number;
}

/** A packet that arrived. */
interface Received {
  packet: Packet;
  /** The IPv4 address of its sender. */
  sender: string;
  senderPort: number;
}

/** A socket for multicast DNS on one network. Other programs of the machine may use the same port. */
export class MulticastSocket {
  readonly #socket: Socket;
  readonly #place: MulticastPlace;

  private constructor(socket: Socket, place: MulticastPlace) {
    this.#socket = socket;
    this.#place = place;
  }

  get address(): string {
    return this.#place.address;
  }

  /**
   * Opens a socket. `receive` is called for each packet from the network of the address that can be decoded, `failed` if
   * the socket breaks.
   *
   * @throws Error if the machine does not have the address, or does not allow it
   */
  static async open(
    place: MulticastPlace,
    handlers: { receive: (received: Received) => unknown; failed: (error: unknown) => void },
  ): Promise<MulticastSocket> {
    const socket = createSocket({ type: 'udp4', reuseAddr: true });
    try {
      socket.bind({ port: place.port, exclusive: false });
      await once(socket, 'listening');
      socket.addMembership(GROUP, place.address);
      socket.setMulticastInterface(place.address);
      socket.setMulticastTTL(255);
    } catch (error) {
      socket.close();
      throw error;
    }
    socket.on('error', handlers.failed);
    // The system gives a socket the packets of other networks too, and those that are sent to the port from anywhere.
    const network = networkOf(place.address);
    const receive = (bytes: Buffer, { address: sender, port: senderPort }: RemoteInfo) => {
      const packet = network.check(sender) ? decoded(bytes) : undefined;
      return packet && handlers.receive({ packet, sender, senderPort });
    };
    socket.on('message', guarded(receive, handlers.failed));
    return new MulticastSocket(socket, place);
  }

  /** Sends a packet to the group, or to one address. Multicast is never certain to arrive, so nothing waits for it. */
  send(packet: Packet, to: { address: string; port: number } = { ...this.#place, address: GROUP }): void {
    this.#socket.send(encode(packet), to.port, to.address, (error) => {
      if (error) this.#socket.emit('error', error);
    });
  }

  /** Closes the socket after pending packets were sent. */
  async close(): Promise<void> {
    this.#socket.removeAllListeners('message');
    // A failure to send is reported to `failed`, and must not keep the socket open.
    await new Promise<void>((resolve) => inNextTurn(() => this.#socket.close(resolve)));
  }
}

/** Returns undefined if the bytes are no packet of multicast DNS: anyone on the network can send them. */
function decoded(bytes: Buffer): Packet | undefined {
  if (bytes.length < HEADER_BYTES || bytes.length > MAX_PACKET_BYTES) return undefined;
  const counts = [4, 6, 8, 10].map((offset) => bytes.readUInt16BE(offset));
  if (counts.reduce((sum, count) => sum + count) > MAX_RECORDS) return undefined;
  try {
    return decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns the network of one of the machine's IPv4 addresses; an empty one if the machine does not have the address. */
function networkOf(address: string): BlockList {
  const network = new BlockList();
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const prefix = own.find((each) => each.address === address)?.cidr?.split('/')[1];
  if (prefix !== undefined) network.addSubnet(address, Number(prefix));
  return network;
}
