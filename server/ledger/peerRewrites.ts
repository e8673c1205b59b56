import { type PeerEvidence, type PeerRewrite, peerEvidenceSchema } from '../../shared/node/peer.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { allPeerRewrites, insertPeerRewrite } from '../store/sqlite/node/peers.ts';
import { appendEntry } from './appendEntry.ts';
import { fingerprintOf } from './entry.ts';
import type { RecordedSubjects } from './verifyLedger.ts';

/** Records that a peer rewrote its ledger, with both checkpoints, inside the caller's transaction. */
export function recordPeerRewrite(database: WriteDatabase, record: PeerRewrite): void {
  const { seq } = appendEntry(database, {
    type: 'peer.rewritten',
    subject: record.key,
    digest: fingerprintOf(record),
    at: record.at,
  });
  insertPeerRewrite(database, { ledger_entry: seq, record });
}

/** Returns the newest recorded rewrite of a peer, or undefined. It stays when the peer is removed. */
export function readPeerRewrite(database: ReadDatabase, peer: string): PeerEvidence | undefined {
  return allPeerRewrites(database)
    .map(({ ledger_entry, record }) => peerEvidenceSchema.parse({ ...(record as object), ledger_entry }))
    .findLast((evidence) => evidence.peer === peer);
}

/** Recomputes the recorded digests of rewrites for the verification of the ledger. */
export const PEER_SUBJECTS: readonly RecordedSubjects[] = [
  {
    types: ['peer.rewritten'],
    *digests(database) {
      for (const { ledger_entry, record } of allPeerRewrites(database))
        yield { seq: ledger_entry, digest: fingerprintOf(record) };
    },
  },
];
