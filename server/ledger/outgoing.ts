import type { SettingsStore } from '../store/settings.ts';
import type { Store } from '../store/store.ts';
import type { Checkpoints } from './checkpoints.ts';

/** A request that the node sends to a timestamp authority, a witness or a webhook, or for the newest version. */
export interface OutgoingRequest {
  url: string;
  /** The media type of the body. */
  contentType?: string;
  accept: string;
  /** Further headers. */
  headers?: Readonly<Record<string, string>>;
  /** Whether the address may be private. If absent, the URL decides. */
  allowPrivate?: boolean;
  /** Without one, the request is a GET request. */
  body?: Uint8Array;
  /** A longer answer is refused. */
  maxBytes: number;
  signal: AbortSignal;
}

export interface OutgoingAnswer {
  status: number;
  /** In lower case, without parameters; empty if there is none. */
  contentType: string;
  body: Buffer;
}

/**
 * Sends a POST request within the node's rules for outgoing requests: bounded in time and bytes, no redirects, and no
 * private address behind a public name.
 *
 * @throws OutgoingError; the signal's reason
 */
export type Post = (request: OutgoingRequest) => Promise<OutgoingAnswer>;

/** No complete answer arrived. The message is a sentence that says why. */
export class OutgoingError extends Error {
  override name = 'OutgoingError';
}

/** What is needed to send checkpoints to other servers, on schedule and on demand. */
export interface SendingServices {
  store: Store;
  checkpoints: Checkpoints;
  settings: Pick<SettingsStore, 'current'>;
  post: Post;
  warn: (details: object, sentence: string) => void;
}

/** An authority gave no valid timestamp. The message is a sentence that says why. */
export class AuthorityError extends Error {
  override name = 'AuthorityError';
}
