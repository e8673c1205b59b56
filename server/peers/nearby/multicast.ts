import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';
import { decode, encode, type Packet } from 'dns-packet';
import { guarded, inNextTurn } from '../../runtime/background.ts';

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
export interface Received {
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
