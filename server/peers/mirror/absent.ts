import {
  type ReleasedReason,
  releasedReasonSchema,
  type WithheldReason,
} from '../../../shared/node/withheld.ts';
import type { ProblemCode } from '../../../shared/problems.ts';
import { instantSchema } from '../../../shared/values/text.ts';
import { isDamaged } from '../../fixity/damages.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { isOnlyFrom, withheldByOthers } from '../../store/sqlite/node/peerOrigins.ts';
import { insertAbsent, isAbsent, isRefusedBy } from '../../store/sqlite/node/peers.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import { withholdForPeer } from '../../withholding/peerWords.ts';
import { targetOf } from '../../withholding/withholding.ts';
import { PeerError } from '../peerClient.ts';
import type { Mirroring } from './remoteLog.ts';

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

/** Whether a peer says that it does not have what was asked for, or not intact. */
export function isMissingAtPeer(error: unknown): boolean {
  if (!(error instanceof PeerError)) return false;
  return error.status === 404 || error.problem?.code === ('blob_damaged' satisfies ProblemCode);
}

/** Whether the bytes of an object are to be asked for: they are not here, or not known from anybody but another peer. */
export function isWanted(
  { store, origin, log, peer }: Pick<Mirroring, 'store' | 'origin' | 'log' | 'peer'>,
  sha256: string,
  isHere: boolean,
): boolean {
  const { read } = store;
  if (isReleased(read, sha256) || isRefusedBy(read, { sha256, origin: log.origin, name: peer.name }))
    return false;
  // One peer that does not give an object does not keep it from coming from others, and its word ends when it does.
  const digests = JSON.stringify([sha256]);
  return !isHere || isAbsent(read, sha256) || withheldByOthers(read, { digests, origin }).length > 0;
}

/**
 * Notes that a peer does not give the bytes of an object, after its row was written, if they are not here from anybody else.
 * If only records of this peer name it, this archive withholds it, too: what it says of it is what the peer says. Bytes of an
 * own record may be absent after a restore, and no peer decides over them.
 */
export function noteAbsent(
  database: WriteDatabase,
  { origin, log }: Pick<Mirroring, 'origin' | 'log'>,
  { sha256, why }: { sha256: string; why: NotGiven },
  now: string,
): void {
  const { origin: peer } = log;
  const isTheirs = isOnlyFrom(database, { sha256, origin });
  const isMissing = isTheirs || isAbsent(database, sha256);
  // Damaged bytes were here: nobody's word makes them absent.
  if (!isMissing || isDamaged(database, sha256) || isReleased(database, sha256)) return;
  if (isRefusedBy(database, { sha256, origin: peer, name: peer })) return;
  insertAbsent(database, { sha256, peer, ...why });
  if (!isTheirs) return;
  const word = { reason: asWithheld(why.reason), note: noteOf(peer, why.state), origin };
  withholdForPeer(database, { target: targetOf({ sha256 }), ...word }, now);
}

/** Why this archive withholds what a peer withholds or released. */
export function noteOf(peer: string, state: NotGiven['state']): string {
  return state === 'withheld' ? `${peer} withholds this.` : `${peer} gave these bytes up.`;
}

/** Why this archive withholds what only a list names, which came from the address of a peer. It says no more than that. */
export function listedNote(peer: string): string {
  return `A list from the address of ${peer} names this as withheld. No ledger entry proves the list.`;
}

/** Bytes that a rule of a peer removed are withheld by its owner's decision. */
export function asWithheld(reason: ReleasedReason): WithheldReason {
  return reason === 'age' ? 'owner' : reason;
}
