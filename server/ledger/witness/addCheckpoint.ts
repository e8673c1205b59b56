import { Problem } from '../../../shared/problems.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import {
  insertRefusal,
  setWitnessed,
  type WitnessedLogRow,
  witnessedLog,
} from '../../store/sqlite/node/witness.ts';
import type { Store } from '../../store/store.ts';
import { type Checkpoint, CheckpointError, openCheckpoint } from '../checkpoint.ts';
import { EMPTY_ROOT } from '../merkle.ts';
import { isConsistent } from '../proofs.ts';
import { type CheckpointRequest, invalidRequest, parseCheckpointRequest } from './checkpointRequest.ts';
import { type Cosigner, cosign, noteBody } from './cosignature.ts';

/** What a witness answers: its cosignature, or the size that it cosigned last. */
export type WitnessAnswer = { cosignature: string } | { conflict: number };

/** More refused requests of one log are not kept: the first prove as much. */
const MAX_REFUSALS = 100;

/**
 * Cosigns a checkpoint if it is consistent with the one that was cosigned before (C2SP tlog-witness). The state is
 * compared and replaced in one transaction, and is on stable storage before this returns.
 *
 * @throws Problem `invalid_checkpoint`, `unknown_log`, `checkpoint_not_signed`, `inconsistent_checkpoint`
 */
export async function addCheckpoint(store: Store, cosigner: Cosigner, text: string): Promise<WitnessAnswer> {
  const request = parseCheckpointRequest(text);
  const log = knownLog(store, request.origin);
  const checkpoint = openSigned(request.note, log.key);
  if (request.oldSize > checkpoint.size) throw invalidRequest('The old size is larger than the checkpoint.');
  const verdict = await store.write((database) => {
    const known = witnessedLog(database, request.origin) ?? log;
    const found = judge(known, checkpoint, request);
    if (found === 'consistent') keepState(database, checkpoint, request.note, store.instant());
    else if (found !== 'other size')
      keepRefusal(database, known, { checkpoint, request, text, at: store.instant() });
    return { found, size: known.size };
  });
  if (verdict.found === 'other size' || verdict.found === 'other root') return { conflict: verdict.size };
  if (verdict.found === 'inconsistent')
    throw new Problem(
      'inconsistent_checkpoint',
      `The proof does not lead from the checkpoint over ${verdict.size} entries to this one.`,
    );
  return { cosignature: cosign(cosigner, noteBody(request.note), store.clock.now()) };
}

function knownLog({ read }: Pick<Store, 'read'>, origin: string): WitnessedLogRow {
  const log = witnessedLog(read, origin);
  if (!log || log.removed_at !== null)
    throw new Problem(
      'unknown_log',
      'This node is not a witness of that log. Its owner can add the log by its key.',
    );
  return log;
}

function openSigned(note: string, key: string): Checkpoint {
  try {
    return openCheckpoint(note, key);
  } catch (error) {
    if (error instanceof CheckpointError)
      throw new Problem('checkpoint_not_signed', error.message, { cause: error });
    throw error;
  }
}

type Verdict = 'consistent' | 'inconsistent' | 'other size' | 'other root';

function judge(
  known: WitnessedLogRow,
  { size, root }: Checkpoint,
  { oldSize, proof }: CheckpointRequest,
): Verdict {
  if (oldSize !== known.size) return 'other size';
  // Nothing was cosigned yet, or an empty log: both begin with the empty tree.
  const knownRoot = known.root === null ? EMPTY_ROOT : Buffer.from(known.root, 'hex');
  if (size === known.size && !root.equals(knownRoot)) return 'other root';
  return isConsistent({ size: known.size, root: knownRoot }, { size, root }, proof)
    ? 'consistent'
    : 'inconsistent';
}

function keepState(
  database: WriteDatabase,
  { origin, size, root }: Checkpoint,
  note: string,
  at: string,
): void {
  setWitnessed(database, { origin, size, root: root.toString('hex'), note, at });
}

function keepRefusal(
  database: WriteDatabase,
  known: WitnessedLogRow,
  {
    checkpoint,
    request,
    text,
    at,
  }: { checkpoint: Checkpoint; request: CheckpointRequest; text: string; at: string },
): void {
  const { origin, size } = checkpoint;
  const refusal = { origin, at, known_size: known.size, known_note: known.note, size, request: text };
  insertRefusal(database, { ...refusal, body: noteBody(request.note) }, MAX_REFUSALS);
}
