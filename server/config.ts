import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../shared/clock.ts';
import type { Network } from './collection/attempt.ts';
import type { Log } from './log.ts';

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
  /** How the collector looks names up, and which addresses it takes for private. */
  network?: Partial<Network>;
  /** The built interface. */
  rendererFolder?: string;
}

export const DEFAULT_HOST = '127.0.0.1';
export const DEFAULT_PORT = 7717;
export const VERSION = '0.1.0';

/** The built interface: beside the built main process, or in `out/` of a checkout. */
export function defaultRendererFolder(): string {
  const here = fileURLToPath(new URL('.', import.meta.url));
  return import.meta.url.endsWith('.ts') ? join(here, '..', 'out', 'renderer') : join(here, '..', 'renderer');
}
