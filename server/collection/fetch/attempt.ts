import type { LookupAddress } from 'node:dns';
import type { Connection } from '../../../shared/collection/connection.ts';
import type { Redirect, RetrievalError, SentRequest } from '../../../shared/collection/retrieval.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import type { Validators } from '../../store/sqlite/collection/validators.ts';
import type { HostRateLimiter } from '../schedule/hostRateLimiter.ts';
import type { ConnectionPool } from './connections.ts';
import type { RobotsCache } from './robots.ts';

/** The parameters of one fetch. */
export interface ObjectRequest<Received> {
  url: string;
  /** The owner's headers. They are sent only to the origin of `url`. */
  headers: Record<string, string>;
  userAgent: string;
  ignoreRobots: boolean;
  timeoutMs: number;
  maxBytes: number;
  /**
   * Called just before a request is sent. Returns the validators of an object that is still stored. They are sent only
   * to the address that issued them.
   */
  validators: () => Promise<Validators | undefined>;
  /** Consumes the body as it streams in. Throws TooManyBytesError if it exceeds `maxBytes`. */
  receive: (chunks: AsyncIterable<Uint8Array>, maxBytes: number) => Promise<Received>;
  /**
   * If false, no connection to a private address is allowed. Otherwise the first host that responds decides: once a
   * public host has responded, a redirect to a private address is refused.
   */
  allowPrivateAddress?: boolean | undefined;
  signal: AbortSignal;
}

/** The result of one attempt. */
export interface Attempt<Received> {
  final_url: string;
  redirects: Redirect[];
  status: number | null;
  error: RetrievalError | null;
  content_type: string | null;
  headers: [string, string][];
  /** The request sent to `final_url`; null if it did not respond. */
  request: SentRequest | null;
  /** The connection over which `final_url` responded; null if it did not. */
  connection: Connection | null;
  /** The certificates that the connections of all requests name, by their SHA-256. */
  certificates: Map<string, Buffer>;
  /** The body; null if it is incomplete. */
  received: Received | null;
  /** The first bytes of the body. The title is read from them. */
  beginning: Buffer;
  /** The validators that were sent, if the response was 304; else null. */
  unchanged: Validators | null;
  /** Whether any host sent an HTTP response, whatever its status. */
  answered: boolean;
  /** Whether the first host that responded is at a private address; undefined if none responded. */
  isPrivate: boolean | undefined;
  /** The earliest time for the next request (Retry-After), in milliseconds since the epoch. */
  retry_at: number | null;
  /** The duration of the requests, without the time they waited in the queue. */
  duration_ms: number;
}

/** Name resolution and the rule for private addresses. */
export type Network = Pick<FetchServices, 'lookup' | 'isPrivateAddress'>;

/** How a node reaches the network. Tests on slow machines keep idle connections longer. */
export type NetworkConfig = Partial<Network> & { keepAliveMs?: number };

export interface FetchServices {
  clock: Clock;
  rateLimiter: HostRateLimiter;
  robots: RobotsCache;
  /** The pool of idle connections. Without it, each request opens a connection and closes it. */
  connections?: ConnectionPool;
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  isPrivateAddress: (address: string) => boolean;
}
