import type { PackProvenance } from '../../../shared/node/peer.ts';
import type { Store } from '../../store/store.ts';
import type { PeerClient } from '../peerClient.ts';
import type { MirrorTally } from './mirrorTally.ts';
import type { RemoteLog } from './remoteLog.ts';

/** What the parts of one mirror share. */
export interface Mirroring {
  store: Store;
  client: PeerClient;
  log: RemoteLog;
  tally: MirrorTally;
  signal: AbortSignal;
  /** Called with the number of records examined so far. */
  progress: (done: number) => void;
  /** The peer and the time, for the provenance of a pack. */
  provenance: () => Pick<PackProvenance, 'peer' | 'mirrored_at'>;
  /** @throws RefusedRecordError `no_room` */
  reserveSpace: (bytes: number) => Promise<void>;
  releaseSpace: (bytes: number) => void;
}
