import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MirrorLimits } from '../shared/limits.ts';
import type { Clock } from '../shared/values/clock.ts';
import type { StartBrowser } from './browser/chromium.ts';
import type { NetworkConfig } from './collection/fetch/requester.ts';
import type { AroundPlace } from './copies/targets/openTarget.ts';
import type { StartChild } from './runtime/child.ts';
import type { Log } from './runtime/log.ts';

/** How to open a node. Members that are not set have the defaults of `strongroom serve`. */
export interface NodeConfig {
  /** The data folder; created if it does not exist. */
  dataFolder: string;
  host?: string;
  /** 0 lets the system pick one. */
  port?: number;
  /** The file with the owner's token (default: in the data folder). */
  tokenFile?: string;
  /** Whether sources are checked on schedule. */
  collect?: boolean;
  /** Whether stored bytes are re-hashed on schedule. */
  audit?: boolean;
  /** Whether copies are kept up to date in the background. */
  copy?: boolean;
  /** What each place of a copy passes through when it is opened; tests let places fail. */
  aroundCopies?: AroundPlace | undefined;
  /** Whether texts, summaries and noise marks are made in the background. */
  derive?: boolean;
  /** Background work begins once nothing was written for this many milliseconds; tests set fewer. */
  idleMs?: number;
  /** A document that takes more milliseconds to read waits with other slow ones. Tests set more. */
  quickMs?: number;
  /** Why copies are not synced, and rounds not started, in the background (default: asked of the system). */
  networkPause?: () => Promise<'no_network' | 'metered' | null>;
  /** Whether the machine runs on a battery that is nearly empty (default: asked of the system). */
  batteryLow?: () => Promise<boolean>;
  /** Whether checkpoints are timestamped and cosigned on schedule. */
  prove?: boolean;
  clock?: Clock;
  random?: (bytes: number) => Buffer;
  log?: Log;
  /** The file to which `log` writes, if it is one. */
  logFile?: string;
  /** The public address behind a proxy that terminates TLS; overrides the setting `public_url`. */
  publicUrl?: string | undefined;
  /** Serves HTTPS too, whatever the setting `tls` says. */
  tls?: boolean;
  /** Drafts with more bytes are published as sets, in parts of this size (default: what a pack can have); for tests. */
  packBytes?: number;
  /** Limits for readers; tests set lower ones. */
  readers?: Partial<ReaderLimits>;
  /** Continues with a database that is behind what was acknowledged or signed, with a new key. */
  acceptRollback?: boolean;
  /** How the collector resolves names, which addresses it treats as private, and how long it keeps idle connections. */
  network?: NetworkConfig;
  /** The folder of the built interface. */
  rendererFolder?: string;
  /** Where nodes are looked for and announced with multicast DNS; tests use another port and loopback. */
  discovery?: { port?: number; addresses?: string[] };
  /** How often the node looks whether its data folder is there; for tests. */
  lookEveryMs?: number;
  /** Whether the mirrors that are followed are repeated in the background. */
  follow?: boolean;
  /** How often the node looks whether a mirror is due, and what bounds the time of a peer's responses; for tests. */
  peerPollIntervalMs?: number;
  peerTimer?: (ms: number, over: () => void) => () => void;
  /** What one run of a mirror takes at most; less in tests. */
  mirrorLimits?: Partial<MirrorLimits>;
  /** How the browser that draws pages is started (default: an installed Chromium). */
  startBrowser?: StartBrowser;
  /** How child processes are started (default: forked by Node). */
  startChild?: StartChild;
  /** Opens the sample archive instead of the own one, and back; only an app can do that. */
  sample?: SampleSwitch | undefined;
  /** A code that signs one browser in, once: one that was the owner's before the app opened this archive. */
  signInCode?: string | undefined;
}

/** What an app does for its node, to show a sample archive instead of the person's own. */
export interface SampleSwitch {
  /** Whether this node serves the sample. */
  isOpen: boolean;
  /**
   * Makes the sample, and opens it soon after this has resolved; or leaves it and removes it. Resolves with a code that
   * signs one browser in there.
   *
   * @throws Error with a sentence for the owner
   */
  change(): Promise<string>;
}

/** How many resources readers may use. */
export interface ReaderLimits {
  /** A reader that accepts no byte of its response for this long is disconnected. */
  stallTimeoutMs: number;
  /** The maximum number of concurrent exports. Each holds a snapshot of the database. */
  maxConcurrentExports: number;
  /** The maximum size of the write-ahead log: exports are ended before it is exceeded. */
  maxWriteAheadLogBytes: number;
  /** The maximum number of open connections on each listening address. */
  connections: number;
}

/**
 * An idle connection uses a few kilobytes, a stalled one a few hundred, so this many connections fit into the memory of a
 * small machine. Each address has its own limit, so that the network cannot use up the connections of the owner's window.
 */
export const READER_LIMITS: ReaderLimits = {
  stallTimeoutMs: 60_000,
  maxConcurrentExports: 4,
  maxWriteAheadLogBytes: 256_000_000,
  connections: 2_000,
};

export const DEFAULT_HOST = '127.0.0.1';
export const DEFAULT_PORT = 7717;

/** Returns the folder of the built interface: next to the built main process, or in `out/` of a checkout. */
export function defaultRendererFolder(): string {
  const here = fileURLToPath(new URL('.', import.meta.url));
  return import.meta.url.endsWith('.ts') ? join(here, '..', 'out', 'renderer') : join(here, '..', 'renderer');
}
