import { type SeenBy, seenBySchema } from '../../shared/collection/event.ts';
import {
  type ObservationRequest,
  observationRequestSchema,
  observationStatementSchema,
  type RecordedObservation,
} from '../../shared/node/observation.ts';
import {
  type PeerEvidence,
  type PeerRewrite,
  peerEvidenceSchema,
  type RewriteProof,
} from '../../shared/node/peer.ts';
import {
  checkSeenBy,
  openObservation,
  openStatement,
  REQUEST_HEADER,
  readObservation,
  STATEMENT_HEADER,
} from '../../shared/proof/evidence/observation.ts';
import { ifValid, ProofError } from '../../shared/proof/ledger/signedNote.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import {
  allPeerRewrites,
  insertObservation,
  insertPeerRewrite,
  iterateObservations,
  observationsOfEvent,
} from '../store/sqlite/node/peers.ts';
import { appendEntry } from './appendEntry.ts';
import { type Checkpoint, nodeCrypto } from './checkpoint.ts';
import { fingerprintOf } from './entry.ts';
import { isConsistent } from './prove.ts';
import { type RecordedSubjects, subjectsOf } from './verifyLedger.ts';

/** Records what one of two nodes signed of an address that both fetched, inside the caller's transaction. */
export function recordObservation(database: WriteDatabase, record: RecordedObservation): void {
  const { seq } = appendEntry(database, {
    type: 'observation.signed',
    subject: record.nonce,
    digest: fingerprintOf(record),
    at: record.at,
  });
  insertObservation(database, { ledger_entry: seq, record });
}

function parsedRequest(note: string): ObservationRequest {
  const request = observationRequestSchema.safeParse(readObservation(note, REQUEST_HEADER));
  if (!request.success) throw new ProofError('The request has no known form.');
  return request.data;
}

/**
 * Whether a record is what it says: the statement is signed by who was asked, and answers the request, which was signed by
 * who asked. One of both is the peer.
 */
export function isProvenObservation({ role, nonce, peer, request, statement }: RecordedObservation): boolean {
  return (
    ifValid(() => {
      const { from, to } = parsedRequest(request);
      openObservation(request, REQUEST_HEADER, from, nodeCrypto);
      const signed = openStatement(statement, { request, key: to }, nodeCrypto);
      const isKnown = observationStatementSchema.safeParse(signed).success;
      return isKnown && signed.nonce === nonce && peer.key === (role === 'asked' ? to : from);
    }) ?? false
  );
}

/** An event that a peer is said to have seen. */
interface SeenEvent {
  id: number;
  url: string;
  sha256: string | null;
  observed_at: string;
}

/**
 * Says why a peer has not signed what the node with a key recorded of an event, by the rules of evidence files; undefined if
 * it has.
 */
export function whyNotSeenBy(record: RecordedObservation, event: SeenEvent, key: string): string | undefined {
  const entry = {
    type: 'observation.signed',
    subject: record.nonce,
    digest: fingerprintOf(record),
  } as const;
  const claims = checkSeenBy(
    { entry, record: canonicalText(record) },
    { recorded: { record: canonicalText(event) }, key },
    nodeCrypto,
  );
  return claims.find(({ state }) => state === 'fails')?.detail;
}

/** Returns which peers fetched the address of an event at the same time, and what they signed. */
export function seenByOf(database: ReadDatabase, event: number): SeenBy[] {
  return observationsOfEvent(database, event).map(({ ledger_entry, record }) => {
    const { peer, agreement, blocks, statement } = record;
    const { requested_at, fetched_at, status, error, sha256 } = readObservation(statement, STATEMENT_HEADER);
    return seenBySchema.parse({
      peer: peer.id,
      name: peer.name,
      key: peer.key,
      requested_at,
      fetched_at,
      agreement,
      status,
      error,
      sha256,
      blocks,
      statement,
      ledger_entry,
    });
  });
}

/** Recomputes the recorded digests of signed observations for the verification of the ledger. */
export const OBSERVATION_SUBJECTS: readonly RecordedSubjects[] = [
  subjectsOf('observation.signed', iterateObservations, ({ record }) => fingerprintOf(JSON.parse(record))),
];

/**
 * Returns whether two signed checkpoints of one log prove that it has two histories. Two checkpoints of the same size do if
 * their roots differ. A larger one needs the root that its log had at the size of the smaller one, and the proof between them.
 * A smaller checkpoint and an invalid proof are no evidence, because an attacker on the network can send both.
 */
export function provesRewrite(kept: Checkpoint, seen: Checkpoint, proof: RewriteProof | undefined): boolean {
  if (kept.origin !== seen.origin) return false;
  if (!proof) return kept.size === seen.size && !kept.root.equals(seen.root);
  if (kept.size === 0 || kept.size >= seen.size) return false;
  const [root, ...hashes] = [proof.from_root, ...proof.hashes].map((hash) => Buffer.from(hash, 'base64'));
  return (
    root !== undefined && !root.equals(kept.root) && isConsistent({ size: kept.size, root }, seen, hashes)
  );
}

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
  subjectsOf('peer.rewritten', allPeerRewrites, ({ record }) => fingerprintOf(record)),
];
