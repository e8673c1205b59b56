import type {
  Witness,
  WitnessedLog,
  WitnessRefusal,
  WitnessState,
  WitnessStates,
} from '../../../shared/ledger/ledger.ts';
import { Problem } from '../../../shared/problems.ts';
import { noteBody } from '../../../shared/proof/ledger/signedNote.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { countOf } from '../../../shared/values/counts.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { RepeatedWork } from '../../runtime/background.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import {
  allWitnessedLogs,
  insertCosignature,
  insertRefusal,
  insertWitnessedLog,
  lastEntry,
  newestCosignature,
  refusalsPage,
  removeWitnessedLog,
  setWitnessed,
  type WitnessedLogRow,
  witnessedLog,
} from '../../store/sqlite/node/ledger.ts';
import type { Store } from '../../store/store.ts';
import { readHead } from '../appendEntry.ts';
import { type Checkpoint, CheckpointError, isVerifierKey, openCheckpoint } from '../checkpoint.ts';
import type { Checkpoints } from '../checkpoints.ts';
import { keyNameOf } from '../nodeKey.ts';
import { type OutgoingAnswer, OutgoingError, type Post, type SendingServices } from '../outgoing.ts';
import { consistencyPath, isConsistent } from '../prove.ts';
import { EMPTY_ROOT, rangeRoot } from '../tree.ts';
import { type Cosignature, type Cosigner, cosign, findCosignature, parseCosignerKey } from './cosignature.ts';

/** A checkpoint is sent to the witnesses at most once in this time, a little over a minute. */
export const SUBMIT_EVERY_MS = 60_500;

/** Has the checkpoints of this node cosigned by the witnesses in the settings: after the ledger grew, and on demand. */
export class Witnesses {
  readonly #services: SendingServices;
  readonly #work: RepeatedWork;
  readonly #errors = new Map<string, string>();

  constructor(services: SendingServices) {
    this.#services = services;
    this.#work = new RepeatedWork(services.store.clock);
  }

  /** Sends checkpoints from now on, whenever the ledger grew. */
  startSchedule(): void {
    this.#work.start(
      () => this.#submitDue(),
      SUBMIT_EVERY_MS,
      (error) => this.#services.warn({ error }, 'The checkpoint could not be sent to the witnesses.'),
    );
  }

  /** Ends what is running. */
  close(): Promise<void> {
    return this.#work.close();
  }

  /** Sends the checkpoint to every witness now, and returns their state. @throws the errors of `Checkpoints.sign` */
  async submitNow(): Promise<WitnessStates> {
    await this.#work.track(this.#submit(this.#services.settings.current.witnesses));
    return this.states();
  }

  /** Returns what each witness cosigned. */
  states(): WitnessStates {
    const { store, settings } = this.#services;
    const witnesses = settings.current.witnesses.map(({ url, key }): WitnessState => {
      const newest = newestCosignature(store.read, key);
      const error = this.#errors.get(key) ?? null;
      return { url, key, size: newest?.size ?? 0, cosigned_at: newest?.at ?? null, error };
    });
    return { size: lastEntry(store.read)?.seq ?? 0, witnesses };
  }

  async #submitDue(): Promise<void> {
    const { store, settings } = this.#services;
    const size = lastEntry(store.read)?.seq ?? 0;
    const behind = settings.current.witnesses.filter(
      ({ key }) => (newestCosignature(store.read, key)?.size ?? 0) < size,
    );
    await this.#submit(behind);
  }

  async #submit(witnesses: readonly Witness[]): Promise<void> {
    await Promise.all(witnesses.map((witness) => this.#submitTo(witness)));
  }

  async #submitTo(witness: Witness): Promise<void> {
    const { store, checkpoints, post, warn } = this.#services;
    const { signal } = this.#work;
    try {
      const { line, at, size, root } = await submitCheckpoint({ store, checkpoints, post }, witness, signal);
      const row = {
        witness: witness.key,
        origin: checkpoints.key.name,
        size,
        root,
        line,
        at: instantOf(at),
        received_at: store.instant(),
      };
      await store.write((database) => insertCosignature(database, row));
      this.#errors.delete(witness.key);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof WitnessError || error instanceof OutgoingError)) throw error;
      this.#errors.set(witness.key, error.message);
      warn({ witness: witness.url, error: error.message }, 'A witness did not cosign the checkpoint.');
    }
  }
}

/** A witness did not cosign a checkpoint. The message is a sentence that says why. */
class WitnessError extends Error {
  override name = 'WitnessError';
}

interface Submitted extends Cosignature {
  size: number;
  /** In hex. */
  root: string;
}

const MAX_ANSWER_BYTES = 65_536;

/**
 * Sends the current checkpoint to a witness, with a proof that it continues what the witness cosigned before (C2SP
 * tlog-witness). A witness that knows another size is asked once more from that size.
 *
 * @throws WitnessError; OutgoingError; the errors of `Checkpoints.sign`
 */
async function submitCheckpoint(
  { store, checkpoints, post }: { store: Store; checkpoints: Checkpoints; post: Post },
  { url, key }: Witness,
  signal: AbortSignal,
): Promise<Submitted> {
  const cosigner = parseCosignerKey(key);
  if (!cosigner) throw new WitnessError('Its key is not a key for cosignatures.');
  const { seq: size, root } = onSnapshot(store.read, () => readHead(store.read));
  const note = await checkpoints.sign({ size, root: Buffer.from(root, 'hex') });
  const send = async (old: number) => {
    const hashes = consistencyPath(old, size, (from, to) => rangeRoot(store.read, from, to));
    const proof = hashes.map((hash) => `${hash.toString('base64')}\n`).join('');
    const sendTo = (prefix: string) =>
      post({
        url: `${prefix}/add-checkpoint`,
        contentType: 'text/plain; charset=utf-8',
        accept: '*/*',
        body: Buffer.from(`old ${old}\n${proof}\n${note}`),
        maxBytes: MAX_ANSWER_BYTES,
        signal,
      });
    const prefix = url.replace(/\/$/, '');
    const answer = await sendTo(prefix);
    // A node is a witness below its own address, which is how the owner knows it as a peer.
    return answer.status === 404 ? sendTo(`${prefix}/witness`) : answer;
  };
  const known = Math.min(newestCosignature(store.read, key)?.size ?? 0, size);
  const first = await send(known);
  const stated = sizeIn(first);
  if (stated !== undefined && stated > size)
    throw new WitnessError(`It has seen ${stated} entries of this ledger, which has ${size}.`);
  const answer = stated === undefined || stated === known ? first : await send(stated);
  if (answer.status !== 200) throw new WitnessError(describeRefusal(answer));
  const found = findCosignature(answer.body.toString('utf8'), noteBody(note), cosigner);
  if (!found) throw new WitnessError('Its answer holds no valid cosignature by its key.');
  return { ...found, size, root };
}

function sizeIn({ status, contentType, body }: OutgoingAnswer): number | undefined {
  if (status !== 409 || contentType !== 'text/x.tlog.size') return undefined;
  const text = body.toString('utf8');
  return /^(0|[1-9]\d{0,14})\n$/.test(text) ? Number(text) : undefined;
}

function describeRefusal({ status }: OutgoingAnswer): string {
  if (status === 404) return 'It does not know this ledger. Its owner must add this node’s key there.';
  if (status === 409 || status === 422)
    return 'It reports that this ledger does not continue the one that it cosigned before.';
  return `It answered with status ${status}.`;
}

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
  await store.write((database) => removeWitnessedLog(database, { origin, removed_at: store.instant() }));
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
  insertRefusal(database, { ...refusal, body: noteBody(request.note), most: MAX_REFUSALS });
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
