import type { LookupAddress } from 'node:dns';
import type { Clock } from '../../../shared/clock.ts';
import type { RetrievalError, SentRequest } from '../../../shared/source.ts';
import type { Validators } from '../../store/sqlite/collection/validators.ts';
import type { HostRateLimiter } from '../schedule/hostRateLimiter.ts';
import type { Connections } from './connections.ts';
import type { RobotsCache } from './robots.ts';

/** What is asked for, and how. */
export interface ObjectRequest<Received> {
  url: string;
  /** The owner's own headers; sent to the source's own origin only. */
  headers: Record<string, string>;
  userAgent: string;
  ignoreRobots: boolean;
  timeoutMs: number;
  maxBytes: number;
  /** Asked when the turn has come: gives the validators of an object that is still held; they are sent to the address that gave them. */
  validators: () => Promise<Validators | undefined>;
  /** Takes the body as it streams in; refuses what is too large with TooManyBytesError. */
  receive: (chunks: AsyncIterable<Uint8Array>, maxBytes: number) => Promise<Received>;
  /**
   * Whether who named this address is at a private one: false where no private address may be asked at all. Undefined
   * leaves that to the first address that answers: from a public one nothing leads to a private one.
   */
  allowPrivateAddress?: boolean | undefined;
  signal: AbortSignal;
}

/** What one attempt came to. */
export interface Attempt<Received> {
  final_url: string;
  redirects: { url: string; status: number }[];
  status: number | null;
  error: RetrievalError | null;
  content_type: string | null;
  headers: [string, string][];
  /** What was sent to `final_url`, where it answered. */
  request: SentRequest | null;
  /** The body, where the whole of it came. */
  received: Received | null;
  /** The first bytes of the body, to look for a title in. */
  beginning: Buffer;
  /** The validators asked by, where the answer was that nothing changed. */
  unchanged: Validators | null;
  /** Whether any host answered in HTTP, whatever it answered. */
  answered: boolean;
  /** Whether the first host that answered is at a private address; undefined where none answered. */
  isPrivate: boolean | undefined;
  /** When the host wants to be asked again (Retry-After). */
  retry_at: number | null;
  /** How long the requests themselves took, without the waiting for their turn. */
  duration_ms: number;
}

/** How names are looked up, and which addresses are not of the public internet. */
export type Network = Pick<FetchServices, 'lookup' | 'isPrivateAddress'>;

export interface FetchServices {
  clock: Clock;
  rateLimiter: HostRateLimiter;
  robots: RobotsCache;
  /** Where connections are kept for the next request; without, each request has one of its own. */
  connections?: Connections;
  lookup: (hostname: string) => Promise<LookupAddress[]>;
  isPrivateAddress: (address: string) => boolean;
}
