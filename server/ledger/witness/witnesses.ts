import type { Witness, WitnessState, WitnessStates } from '../../../shared/ledger/witness.ts';
import { noteBody } from '../../../shared/proof/signedNote.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { RepeatedWork } from '../../runtime/background.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import { insertCosignature, lastEntry, newestCosignature } from '../../store/sqlite/node/ledger.ts';
import type { Store } from '../../store/store.ts';
import { readHead } from '../appendEntry.ts';
import type { Checkpoints } from '../checkpoints.ts';
import { type OutgoingAnswer, OutgoingError, type Post, type SendingServices } from '../outgoing.ts';
import { consistencyPath } from '../prove.ts';
import { rangeRoot } from '../tree.ts';
import { type Cosignature, findCosignature, parseCosignerKey } from './cosignature.ts';

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
  constructor(message: string) {
    super(message);
    this.name = 'WitnessError';
  }
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
  const send = (old: number) => {
    const hashes = consistencyPath(old, size, (from, to) => rangeRoot(store.read, from, to));
    const proof = hashes.map((hash) => `${hash.toString('base64')}\n`).join('');
    return post({
      url: `${url.replace(/\/$/, '')}/add-checkpoint`,
      contentType: 'text/plain; charset=utf-8',
      accept: '*/*',
      body: Buffer.from(`old ${old}\n${proof}\n${note}`),
      maxBytes: MAX_ANSWER_BYTES,
      signal,
    });
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
