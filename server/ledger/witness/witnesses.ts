import type { Witness, WitnessState, WitnessStates } from '../../../shared/ledger/witness.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { lastEntry } from '../../store/sqlite/node/ledger.ts';
import { insertCosignature, newestCosignature } from '../../store/sqlite/node/witness.ts';
import { OutgoingError } from '../outgoing.ts';
import { RepeatedWork, type SendingServices } from '../repeatedWork.ts';
import { submitCheckpoint, WitnessError } from './submitCheckpoint.ts';

/** A checkpoint is sent to the witnesses at most once in this time, a little over a minute. */
export const SUBMIT_EVERY_MS = 60_500;

/** Has the checkpoints of this node cosigned by the witnesses in the settings: after the ledger grew, and on demand. */
export class Witnesses {
  readonly #services: SendingServices;
  readonly #work: RepeatedWork;
  readonly #errors = new Map<string, string>();

  constructor(services: SendingServices) {
    this.#services = services;
    this.#work = new RepeatedWork(services);
  }

  /** Sends checkpoints from now on, whenever the ledger grew. */
  startSchedule(): void {
    this.#work.start(
      () => this.#submitDue(),
      SUBMIT_EVERY_MS,
      'The checkpoint could not be sent to the witnesses.',
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
