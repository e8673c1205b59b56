import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { StalledReaders } from '../delivery/stalledReaders.ts';
import { isLoopback, unmappedAddress } from './machineAddresses.ts';
import { answerMalformedRequests } from './malformedRequest.ts';

/** The open connections of all servers of the node. */
export class OpenSockets {
  /** Each with its latest response. */
  readonly #sockets = new Map<Socket, ServerResponse | undefined>();
  /** TCP connections whose TLS handshake is not finished, by their remote address and port. */
  readonly #handshaking = new Map<string, Socket>();
  /** Connections from the network that are to be closed, because sharing has ended. */
  readonly #leaving = new Set<Socket>();
  readonly #stalled = new StalledReaders();

  /** Follows the connections of a server, and answers its requests. */
  follow(server: Server, listener: RequestListener, { isTls }: { isTls: boolean }): void {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#sockets.set(request.socket, response);
      listener(request, response);
    });
    answerMalformedRequests(server, (socket) => this.#sockets.get(socket as Socket));
    if (isTls) server.on('connection', (socket) => this.#followHandshake(socket));
    server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#handshaking.delete(peerName(socket));
      this.#sockets.set(socket, undefined);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#leaving.delete(socket);
      });
    });
  }

  #followHandshake(socket: Socket): void {
    const name = peerName(socket);
    this.#handshaking.set(name, socket);
    socket.once('close', () => {
      if (this.#handshaking.get(name) === socket) this.#handshaking.delete(name);
    });
  }

  /**
   * Closes connections without a running response: those kept alive for a next request, those that browsers open in
   * advance, which Node does not count as idle, and those that have not finished their handshake.
   */
  closeIdle(): void {
    for (const [socket, response] of this.#sockets) if (response?.closed ?? true) socket.destroy();
    for (const socket of this.#handshaking.values()) socket.destroy();
  }

  /** Disconnects readers after this many checks without progress, because they occupy resources. */
  closeStalled(checks: number): void {
    for (const [socket, response] of this.#sockets) {
      if (this.#stalled.checksWithoutProgress(socket, response) >= checks) socket.destroy();
    }
  }

  /** Marks the connections from the network that exist now, for `closeLeaving`. */
  markLeaving(): void {
    for (const socket of this.#sockets.keys()) if (isFromNetwork(socket)) this.#leaving.add(socket);
  }

  closeLeaving(): void {
    for (const socket of this.#leaving) socket.destroy();
    this.#leaving.clear();
  }
}

function isFromNetwork(socket: Socket): boolean {
  return !isLoopback(unmappedAddress(socket.remoteAddress));
}

function peerName({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
