import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const opened: TcpRelay[] = [];

/** An address on loopback that leads to a server, and later to another one. */
export class TcpRelay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port: number;

  private constructor(target: string) {
    this.#port = portOf(target);
    this.#server = createServer((incoming) => {
      const outgoing = connect(this.#port, '127.0.0.1');
      for (const [from, to] of [
        [incoming, outgoing],
        [outgoing, incoming],
      ] as const) {
        this.#sockets.add(from);
        from.pipe(to);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
      }
    });
  }

  /** Leads to the port of a URL; `closeTcpRelays` closes it. */
  static async open(target: string): Promise<TcpRelay> {
    const relay = new TcpRelay(target);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    opened.push(relay);
    return relay;
  }

  /** From now on, leads to the port of another URL. Open connections are closed. */
  leadTo(target: string): void {
    this.#port = portOf(target);
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The address of this relay as a URL with this scheme. */
  url(scheme: 'http' | 'https'): string {
    return `${scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** For `afterEach`. */
export function closeTcpRelays(): void {
  for (const relay of opened.splice(0)) relay.close();
}
