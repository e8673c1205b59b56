import type { MirrorRefusal } from '../../../shared/node/peer.ts';
import { Problem } from '../../../shared/problems.ts';
import { PeerError } from '../peerClient.ts';
import { RefusedRecordError } from './mirrorTally.ts';

/**
 * Returns why a record is refused, if the error is the fault of the record or of one response.
 *
 * @throws any other error: the peer is gone, this archive cannot write, the mirror was cancelled
 */
export function refusalOf(error: unknown): MirrorRefusal {
  if (error instanceof RefusedRecordError) return error.reason;
  if (error instanceof PeerError) {
    if (error.kind === 'unreachable') throw error;
    return error.kind === 'stalled' ? 'timeout' : 'missing_object';
  }
  if (!(error instanceof Problem)) throw error;
  if (error.status === 507) return 'no_room';
  if (error.status === 413) return 'too_large';
  if (error.code === 'id_taken') return 'id_taken';
  if (error.status === 422) return 'wrong_record';
  throw error;
}
