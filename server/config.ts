import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../shared/clock.ts';
import type { Network } from './collection/fetch/attempt.ts';
import type { StartChild } from './runtime/child.ts';
import type { Log } from './runtime/log.ts';

/** How a node is opened; what is left out has the default of `strongroom serve`. */
export interface NodeConfig {
  /** The data folder; made if it is not there. */
  dataFolder: string;
  host?: string;
  /** 0 lets the system pick one. */
  port?: number;
  /** Where the owner's token is kept; in the data folder unless said otherwise. */
  tokenFile?: string;
  /** Whether sources are checked on schedule. */
  collect?: boolean;
  /** Whether stored bytes are re-hashed on schedule. */
  audit?: boolean;
  clock?: Clock;
  random?: (bytes: number) => Buffer;
  log?: Log;
  /** Where the world reaches the node through a proxy that ends TLS; goes before the setting `public_url`. */
  publicUrl?: string | undefined;
  /** How long readers are waited for, and how many; tests shorten it. */
  readers?: Partial<ReaderLimits>;
  /** Goes on with a database that is behind what was acknowledged or signed, with a new key. */
  acceptRollback?: boolean;
  /** How the collector looks names up, and which addresses it takes for private. */
  network?: Partial<Network>;
  /** The built interface. */
  rendererFolder?: string;
  /** How processes of its own are started; forked by Node unless said otherwise. */
  startChild?: StartChild;
}

/** What readers may hold of the node. */
export interface ReaderLimits {
  /** A reader that takes no byte of its answer for so long is cut off. */
  stallTimeoutMs: number;
  /** So many exports, each of which holds a snapshot of the database, run at once. */
  maxConcurrentExports: number;
  /** No export lets the write-ahead log grow beyond this. */
  maxWriteAheadLogBytes: number;
  /** So many connections are open at once on each address that is listened on. */
  connections: number;
}

/**
 * A connection costs some kilobytes while nothing is sent on it and a few hundred where its reader stalls, so that this
 * many stay within what a small machine has; each address has its own, so that the network cannot take those of the
 * owner's window.
 */
export const READER_LIMITS: ReaderLimits = {
  stallTimeoutMs: 60_000,
  maxConcurrentExports: 4,
  maxWriteAheadLogBytes: 256_000_000,
  connections: 2_000,
};

export const DEFAULT_HOST = '127.0.0.1';
export const DEFAULT_PORT = 7717;
export const VERSION = '0.1.0';

/** The built interface: beside the built main process, or in `out/` of a checkout. */
export function defaultRendererFolder(): string {
  const here = fileURLToPath(new URL('.', import.meta.url));
  return import.meta.url.endsWith('.ts') ? join(here, '..', 'out', 'renderer') : join(here, '..', 'renderer');
}
