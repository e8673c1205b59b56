import type { Witness, WitnessState, WitnessStates } from '../../../shared/ledger/witness.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import type { SettingsStore } from '../../store/settings.ts';
import { lastEntry } from '../../store/sqlite/node/ledger.ts';
import { insertCosignature, newestCosignature } from '../../store/sqlite/node/witness.ts';
import type { Store } from '../../store/store.ts';
import type { Checkpoints } from '../checkpoints.ts';
import { OutgoingError, type Post } from '../outgoing.ts';
import { submitCheckpoint, WitnessError } from './submitCheckpoint.ts';

export interface WitnessServices {
  store: Store;
  checkpoints: Checkpoints;
  settings: Pick<SettingsStore, 'current'>;
  post: Post;
  warn: (details: object, sentence: string) => void;
}

/** A checkpoint is sent to the witnesses at most once in this time, a little over a minute. */
export const SUBMIT_EVERY_MS = 60_500;

/** Has the checkpoints of this node cosigned by the witnesses in the settings: after the ledger grew, and on demand. */
export class Witnesses {
  readonly #services: WitnessServices;
  readonly #closing = new AbortController();
  readonly #errors = new Map<string, string>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(services: WitnessServices) {
    this.#services = services;
  }

  /** Sends checkpoints from now on, whenever the ledger grew. */
  startSchedule(): void {
    void this.#track(this.#follow());
  }

  /** Ends what is running. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
  }

  /** Sends the checkpoint to every witness now, and returns their state. @throws the errors of `Checkpoints.sign` */
  async submitNow(): Promise<WitnessStates> {
    await this.#track(this.#submit(this.#services.settings.current.witnesses));
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

  #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#running.add(work);
    void work.catch(() => {}).finally(() => this.#running.delete(work));
    return work;
  }

  async #follow(): Promise<void> {
    const { store, settings, warn } = this.#services;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const size = lastEntry(store.read)?.seq ?? 0;
        const behind = settings.current.witnesses.filter(
          ({ key }) => (newestCosignature(store.read, key)?.size ?? 0) < size,
        );
        if (behind.length > 0) await this.#submit(behind);
      } catch (error) {
        if (!signal.aborted) warn({ error }, 'The checkpoint could not be sent to the witnesses.');
      }
      await store.clock.sleep(SUBMIT_EVERY_MS, signal);
    }
  }

  async #submit(witnesses: readonly Witness[]): Promise<void> {
    if (witnesses.length === 0) return;
    await Promise.all(witnesses.map((witness) => this.#submitTo(witness)));
  }

  async #submitTo(witness: Witness): Promise<void> {
    const { store, checkpoints, post, warn } = this.#services;
    const { signal } = this.#closing;
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
