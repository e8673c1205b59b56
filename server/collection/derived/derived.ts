import type { StartChild } from '../../runtime/child.ts';
import type { Jobs } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import type { Store } from '../../store/store.ts';
import { IdleMonitor } from './idleMonitor.ts';
import { Deriver } from './process/deriver.ts';
import { TextFollower } from './texts/textFollower.ts';
import { Texts } from './texts/texts.ts';

/** The service that derives documents from archived objects. */
export interface Derived {
  readonly deriver: Deriver;
  readonly texts: Texts;
  /** Starts extracting the texts of versions and packs' files in the background. */
  startFollowing(): void;
  /** Ends the derive processes. Unfinished documents are derived after the next start. */
  close(): Promise<void>;
}

export interface DerivedOptions {
  store: Store;
  log: Log;
  jobs: Jobs;
  /** Starts the process that reads documents. By default, Node forks it. */
  startChild?: StartChild;
  /** See `NodeConfig`. */
  idleMs?: number;
  quickMs?: number;
}

/** Opens the service. Nothing is derived before the first request or `startFollowing`. */
export function openDerived({ store, log, jobs, startChild, idleMs, quickMs }: DerivedOptions): Derived {
  const deriver = new Deriver(log, startChild, store.blobs, quickMs);
  const idleMonitor = new IdleMonitor(store, idleMs);
  const texts = new Texts({ store, deriver, write: idleMonitor.write });
  const follower = new TextFollower({ store, texts, idleMonitor, jobs, log });
  return {
    deriver,
    texts,
    startFollowing: () => follower.start(),
    close: async () => {
      await Promise.all([follower.close(), deriver.close()]);
    },
  };
}
