import pLimit from 'p-limit';
import { RetrievalFailure } from '../../collection/fetch/failure.ts';
import type { ReceivedObject } from '../../collection/record/objectReceiver.ts';
import { TooManyBytesError } from '../../store/blobs/blobStore.ts';
import type { Reservation } from '../../store/sqlite/engine/writeOptions.ts';
import { MAX_CONNECTIONS } from '../peerClient.ts';
import type { Mirroring } from './mirroring.ts';
import { RefusedRecordError } from './mirrorTally.ts';
import { refusalOf } from './refusalOf.ts';

/** Objects that are on stable storage, until their rows are written. */
export interface FetchedObjects {
  isHeld: (sha256: string) => boolean;
  /** The space that they take until rows count them. */
  reservation: Reservation;
  /** Must be called at the end. */
  discard: () => Promise<void>;
}

/**
 * Fetches the objects that the archive does not hold, several at once, and makes them durable. Each byte is hashed while
 * it arrives. An object that is refused is counted, and is not held.
 *
 * @throws PeerError if the peer is gone
 */
export async function fetchObjects(
  mirroring: Mirroring,
  wanted: readonly { sha256: string; bytes: number }[],
): Promise<FetchedObjects> {
  const { receiver, tally } = mirroring;
  const atOnce = pLimit(MAX_CONNECTIONS);
  const held = new Set<string>();
  const received: ReceivedObject[] = [];
  const reservations: Reservation[] = [];
  const discard = async () => void (await Promise.all(received.map((each) => each.discard())));
  const fetchOne = async (sha256: string, bytes: number, count: number) => {
    try {
      if (tally.isEnough) return;
      if (!(await receiver.isStored(sha256))) {
        const object = await receive(mirroring, sha256, bytes);
        received.push(object);
        if (object.sha256 !== sha256 || object.bytes !== bytes) throw new RefusedRecordError('wrong_bytes');
        const { isStored, reservation } = await object.keep();
        if (!isStored) throw new RefusedRecordError('no_room');
        if (reservation) reservations.push(reservation);
        tally.objects += 1;
        tally.bytes += bytes;
      }
      held.add(sha256);
    } catch (error) {
      const reason = refusalOf(error);
      for (let times = 0; times < count; times += 1) tally.refuse(reason);
    }
  };
  const fetches = [...Map.groupBy(wanted, ({ sha256 }) => sha256)].map(([sha256, captures]) =>
    atOnce(() => fetchOne(sha256, captures[0]?.bytes ?? 0, captures.length)),
  );
  const failed = (await Promise.allSettled(fetches)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') {
    await discard();
    throw failed.reason;
  }
  return {
    isHeld: (sha256) => held.has(sha256),
    reservation: { release: () => reservations.forEach((each) => each.release()) },
    discard,
  };
}

async function receive(
  { receiver, client, signal }: Mirroring,
  sha256: string,
  bytes: number,
): Promise<ReceivedObject> {
  signal.throwIfAborted();
  try {
    return await receiver.receive(client.stream(`/archive/${sha256}`), bytes);
  } catch (error) {
    if (error instanceof TooManyBytesError) throw new RefusedRecordError('wrong_bytes', error);
    if (error instanceof RetrievalFailure) throw new RefusedRecordError('no_room', error);
    throw error;
  }
}
