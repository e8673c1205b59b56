import type { Passages } from '../collection/derived/passages/passages.ts';
import type { Diffs } from '../collection/diff/diffs.ts';
import type { Network } from '../collection/fetch/requester.ts';
import type { Noise } from '../collection/noise/noise.ts';
import type { Post } from '../ledger/outgoing.ts';
import type { Log } from '../runtime/log.ts';
import type { SettingsStore } from '../store/settings.ts';
import type { Store } from '../store/store.ts';

/** What alerts need of the node. */
export interface AlertServices {
  store: Store;
  settings: SettingsStore;
  diffs: Pick<Diffs, 'comparisonOf' | 'comparisonWith'>;
  noise: Pick<Noise, 'check'>;
  /** Checks a source now. */
  recheck: (source: string) => Promise<void>;
  passages: Pick<Passages, 'change' | 'hasWords'>;
  post: Post;
  log: Log;
  /** How names of webhooks are resolved, and which addresses are private. */
  network: Network;
  /** The public address of the node, if it has one. */
  publicOrigin: () => string | undefined;
  idleMs?: number | undefined;
}
