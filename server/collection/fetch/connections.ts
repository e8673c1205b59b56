import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import { Client, errors } from 'undici';
import { connector } from './connect.ts';

/** Under which rules a connection is opened. */
export interface ConnectionRules {
  mayConnect: (address: string) => boolean;
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  signal: AbortSignal;
}

/** A connection to an origin, or one that is about to be opened by its first request. */
export interface Connection {
  client: Client;
  /** The rules of whoever asks over it now. */
  rules: ConnectionRules;
  /** The address that it leads to. */
  address: string;
  /** How it broke, where it did. */
  broken: unknown;
  isOpen: boolean;
  /** Whether an answer came over it before. */
  isUsed: boolean;
  /** Called when it is closed, by whichever side. */
  onClosed: () => void;
}

/** The largest head of an answer that is taken. */
const MAX_HEAD_BYTES = 65_536;
/** No server closes an idle connection sooner, so that next to none is met in the moment in which it is closed. */
const KEPT_MS = 250;

/** Prepares a connection to an origin; its first request opens it. */
export function openConnection(origin: string, rules: ConnectionRules): Connection {
  const onConnected = (socket: Socket) => {
    Object.assign(connection, { address: socket.remoteAddress ?? '', isOpen: true });
    socket.on('error', (error) => {
      // The client itself ends a connection by an error of its own.
      if (!(error instanceof errors.UndiciError)) connection.broken = error;
    });
  };
  const client = new Client(origin, {
    // Were it to be opened again, then by the rules of whoever asks over it then.
    connect: (options, callback) => connector({ ...connection.rules, onConnected })(options, callback),
    maxHeaderSize: MAX_HEAD_BYTES,
    // Deadlines are kept by the caller, who knows how fast the body comes.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEPT_MS,
    keepAliveMaxTimeout: KEPT_MS,
  });
  const connection: Connection = {
    client,
    rules,
    address: '',
    broken: undefined,
    isOpen: false,
    isUsed: false,
    onClosed: () => {},
  };
  client.on('disconnect', () => {
    connection.isOpen = false;
    connection.onClosed();
  });
  return connection;
}

/**
 * Connections that brought a whole answer a moment ago, kept for the next request to the same origin: to open one for
 * each page of a site costs both sides more than the page.
 */
export class Connections {
  readonly #idle = new Map<string, Connection[]>();
  #isClosed = false;

  /** An idle connection that these rules allow, if there is one. */
  take(origin: string, rules: ConnectionRules): Connection | undefined {
    const idle = this.#idle.get(origin) ?? [];
    const index = idle.findIndex(({ address, isOpen }) => isOpen && rules.mayConnect(address));
    const [taken] = index === -1 ? [] : idle.splice(index, 1);
    if (taken) taken.rules = rules;
    return taken;
  }

  /** Takes a connection over which nothing is under way any more. */
  async give(origin: string, connection: Connection): Promise<void> {
    if (!connection.isOpen || this.#isClosed) return connection.client.destroy();
    connection.isUsed = true;
    const idle = this.#idle.get(origin) ?? [];
    this.#idle.set(origin, idle);
    idle.push(connection);
    connection.onClosed = () => this.#forget(origin, connection);
  }

  #forget(origin: string, connection: Connection): void {
    const idle = this.#idle.get(origin) ?? [];
    const index = idle.indexOf(connection);
    if (index === -1) return;
    idle.splice(index, 1);
    if (idle.length === 0) this.#idle.delete(origin);
    void connection.client.destroy();
  }

  /** Closes those that are idle, and every other as soon as it is given back. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(idle.map(({ client }) => client.destroy()));
  }
}
