import type { WitnessedLog, WitnessRefusal } from '../../../shared/ledger/witness.ts';
import { Problem } from '../../../shared/problems.ts';
import { noteBody } from '../../../shared/proof/signedNote.ts';
import { countOf } from '../../../shared/values/counts.ts';
import type { Slice } from '../../../shared/values/list.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import {
  allWitnessedLogs,
  insertRefusal,
  insertWitnessedLog,
  refusalsPage,
  removeWitnessedLog,
  setWitnessed,
  type WitnessedLogRow,
  witnessedLog,
} from '../../store/sqlite/node/ledger.ts';
import type { Store } from '../../store/store.ts';
import { type Checkpoint, CheckpointError, isVerifierKey, openCheckpoint } from '../checkpoint.ts';
import { keyNameOf } from '../nodeKey.ts';
import { isConsistent } from '../prove.ts';
import { EMPTY_ROOT } from '../tree.ts';
import { type Cosigner, cosign } from './cosignature.ts';

/** Returns the logs for which this node is a witness. */
export function listWitnessedLogs({ read }: Pick<Store, 'read'>): WitnessedLog[] {
  return allWitnessedLogs(read).map(asLog);
}

/**
 * Makes this node a witness of a log. One that was removed is taken up again with its state.
 *
 * @throws Problem `log_exists`; `invalid_field` if the key is not an Ed25519 verifier key, or another than before
 */
export async function addWitnessedLog(store: Store, key: string): Promise<WitnessedLog> {
  if (!isVerifierKey(key)) throw invalidKey('This is not a verifier key: its hash does not match.');
  const origin = keyNameOf(key);
  const known = witnessedLog(store.read, origin);
  if (known && known.removed_at === null)
    throw new Problem('log_exists', `This node is already a witness of ${origin}.`);
  if (known && known.key !== key)
    throw invalidKey(
      'This node was a witness of that log with another key. A log cannot change its key unnoticed.',
    );
  await store.write((database) => insertWitnessedLog(database, origin, key, store.instant()));
  return asLog(witnessedLog(store.read, origin) as WitnessedLogRow);
}

function invalidKey(message: string): Problem {
  return new Problem('invalid_field', message, { errors: [{ path: '/key', message }] });
}

/** @throws Problem `not_found` */
export async function endWitnessing(store: Store, origin: string): Promise<void> {
  const known = witnessedLog(store.read, origin);
  if (!known || known.removed_at !== null)
    throw new Problem('not_found', `This node is not a witness of ${origin}.`);
  await store.write((database) => removeWitnessedLog(database, origin, store.instant()));
}

/** Returns a page of the refused checkpoints, newest first. */
export function listWitnessRefusals(
  { read }: Pick<Store, 'read'>,
  page: { limit: number; offset: number },
): Slice<WitnessRefusal> {
  const { items, total } = refusalsPage(read, page);
  const refusals = items.map(({ body: _body, ...refusal }) => ({
    ...refusal,
    is_proof: refusal.size === refusal.known_size,
  }));
  return { items: refusals, total };
}

function asLog({ removed_at: _removed, note: _note, ...log }: WitnessedLogRow): WitnessedLog {
  return log;
}

/** What a witness answers: its cosignature, or the size that it cosigned last. */
type WitnessAnswer = { cosignature: string } | { conflict: number };

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
      `The proof does not lead from the checkpoint over ${countOf(verdict.size, 'entry', 'entries')} to this one.`,
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

/** A request to a witness (C2SP tlog-witness, add-checkpoint), parsed and not yet verified. */
interface CheckpointRequest {
  oldSize: number;
  proof: Buffer[];
  /** The checkpoint as it was signed. */
  note: string;
  origin: string;
}

const MAX_PROOF_LINES = 63;
const OLD_SIZE = /^old (0|[1-9]\d{0,14})$/;
/** A SHA-256 hash in base64: 43 characters that say something, the last of which ends with two zero bits, and one `=`. */
const HASH = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/** @throws Problem `invalid_checkpoint` */
export function parseCheckpointRequest(text: string): CheckpointRequest {
  const end = text.indexOf('\n\n');
  const [first = '', ...lines] = text.slice(0, Math.max(0, end)).split('\n');
  const oldSize = OLD_SIZE.exec(first)?.[1];
  const note = text.slice(end + 2);
  const origin = note.slice(0, note.indexOf('\n'));
  if (end < 0 || oldSize === undefined || origin === '')
    throw invalidRequest(
      'It must begin with “old” and a size, and end with a checkpoint after an empty line.',
    );
  if (lines.length > MAX_PROOF_LINES || !lines.every((line) => HASH.test(line)))
    throw invalidRequest(`The proof must be at most ${MAX_PROOF_LINES} hashes in base64, on a line each.`);
  return { oldSize: Number(oldSize), proof: lines.map((line) => Buffer.from(line, 'base64')), note, origin };
}

function invalidRequest(detail: string): Problem {
  return new Problem('invalid_checkpoint', detail);
}
