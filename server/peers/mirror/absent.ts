import {
  type ReleasedReason,
  releasedReasonSchema,
  type WithheldReason,
} from '../../../shared/node/withheld.ts';
import { instantSchema } from '../../../shared/values/text.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { insertAbsent, isAbsent } from '../../store/sqlite/node/peers.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import { withholdNow } from '../../withholding/withholding.ts';
import { PeerError } from '../peerClient.ts';

/** Why a peer does not give the bytes of an object to visitors, as which this node asks. */
export interface NotGiven {
  state: 'withheld' | 'released';
  reason: ReleasedReason;
  since: string;
}

/** Returns why a peer did not give bytes, if it withholds or released them; undefined for any other error. */
export function notGiven(error: unknown, now: string): NotGiven | undefined {
  if (!(error instanceof PeerError) || (error.status !== 451 && error.status !== 410)) return undefined;
  const { reason, since } = error.problem ?? {};
  return {
    state: error.status === 451 ? 'withheld' : 'released',
    reason: releasedReasonSchema.safeParse(reason).data ?? 'owner',
    since: instantSchema.safeParse(since).data ?? now,
  };
}

/**
 * Notes that the bytes of an object are not here because a peer does not give them, after its row was written. This archive
 * withholds them, too: what it says of them is what the peer says.
 */
export function noteAbsent(
  database: WriteDatabase,
  { sha256, peer, why }: { sha256: string; peer: string; why: NotGiven },
  now: string,
): void {
  if (isAbsent(database, sha256) || isReleased(database, sha256)) return;
  insertAbsent(database, { sha256, peer, ...why });
  withholdNow(database, { sha256, reason: asWithheld(why.reason), note: noteOf(peer, why.state) }, now);
}

/** Why this archive withholds what a peer withholds or released. */
export function noteOf(peer: string, state: NotGiven['state']): string {
  return state === 'withheld' ? `${peer} withholds this.` : `${peer} gave these bytes up.`;
}

/** Bytes that a rule of a peer removed are withheld by its owner's decision. */
export function asWithheld(reason: ReleasedReason): WithheldReason {
  return reason === 'age' ? 'owner' : reason;
}
