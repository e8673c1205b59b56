import type { StartChild } from '../../runtime/child.ts';
import type { Log } from '../../runtime/log.ts';
import type { Store } from '../../store/store.ts';
import { Deriver } from './deriver.ts';
import { IdleMonitor } from './quiet.ts';
import { TextFollower } from './textFollower.ts';
import { Texts } from './texts.ts';

/** The derivation of documents from archived objects, running. */
export interface Derived {
  readonly deriver: Deriver;
  readonly texts: Texts;
  /** Begins to make the texts of the sources' current versions. */
  startFollowing(): void;
  /** Ends the worker; what was being made is made another time. */
  close(): Promise<void>;
}

export interface DerivedOptions {
  store: Store;
  log: Log;
  /** How the process that reads documents is started; forked by Node where it is left out. */
  startChild?: StartChild;
}

/** Opens it; nothing is made until somebody asks. */
export function openDerived({ store, log, startChild }: DerivedOptions): Derived {
  const deriver = new Deriver(log, startChild);
  const quiet = new IdleMonitor(store);
  const texts = new Texts({ store, deriver, write: quiet.write });
  const follower = new TextFollower({ store, texts, quiet, log });
  return {
    deriver,
    texts,
    startFollowing: () => follower.start(),
    close: async () => {
      await Promise.all([follower.close(), deriver.close()]);
    },
  };
}
