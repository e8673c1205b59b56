import type { PackProvenance } from '../../../shared/node/peer.ts';
import type { ObjectReceiver } from '../../collection/record/objectReceiver.ts';
import type { Store } from '../../store/store.ts';
import type { PeerClient } from '../peerClient.ts';
import type { MirrorTally } from './mirrorTally.ts';
import type { RemoteLog } from './remoteLog.ts';

/** How far a selection was mirrored: the size of the peer's ledger, and the records that are held. */
export interface Progress {
  size: number;
  held: number;
  /** The last retrieval of the peer that was examined; 0 for packs. */
  position: number;
}

/** Shared by the parts of one mirror. */
export interface Mirroring {
  store: Store;
  client: PeerClient;
  log: RemoteLog;
  tally: MirrorTally;
  receiver: ObjectReceiver;
  maxObjectMb: number;
  peer: { name: string };
  signal: AbortSignal;
  /** Called with the number of records examined so far. */
  progress: (done: number) => void;
  /** The peer and the time, for the provenance of a pack. */
  provenance: () => Pick<PackProvenance, 'peer' | 'mirrored_at'>;
  /** @throws RefusedRecordError `no_room` */
  reserveSpace: (bytes: number) => Promise<void>;
  releaseSpace: (bytes: number) => void;
}
