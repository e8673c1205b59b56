import { Problem } from '../../../../shared/problems.ts';
import { after, inNextTurn } from '../../../runtime/background.ts';
import { isFull, isStorageError, storageFailed } from '../../storageErrors.ts';
import type { WriteDatabase } from './open.ts';
import type { DurableCommit } from './writeAheadLog.ts';

/** A change must be synchronous; otherwise the transaction would end before it does. */
type Synchronous<Result> = Result extends PromiseLike<unknown> ? never : Result;

interface Waiting {
  change: (database: WriteDatabase) => unknown;
  reservation: Reservation | undefined;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** A change in steps that is queued or running. */
interface Stepped {
  change: (database: WriteDatabase) => Iterator<void, unknown, void>;
  /** The remaining steps, once it has begun. */
  steps?: Iterator<void, unknown, void>;
  /** The result, once all steps are done; returned after the commit. */
  outcome?: { value: unknown };
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** How a change ended that is not committed yet. */
interface Outcome {
  /** Whether it failed and left nothing. */
  isUndone: boolean;
  /** Resolves or rejects the promise of the change. Runs when the transaction is on stable storage. */
  answer: () => void;
}

interface WriterOptions {
  /** Resolves when the next commit may be made; undefined if at once. */
  whenReady?: () => Promise<unknown> | undefined;
  /** Why nothing may be written for now, or undefined. */
  refusal?: () => Problem | undefined;
  /** Called when a commit is on stable storage, before its changes are answered. */
  onDurable?: () => void;
  /** Receives the errors of `whenReady` and of listeners; they neither prevent nor undo a commit. */
  warn?: (error: unknown, message: string) => void;
}

/** No further change joins a transaction after this time, so that it does not block the event loop for long. */
const MAX_TRANSACTION_MS = 10;

/** A batched change waits this long for others, or until this many are queued. */
const BATCH_WAIT_MS = 20;
const MAX_BATCH = 128;

/**
 * Group commit. Changes that arrive together share one transaction, all but the first in savepoints of their own, so that
 * the failure of one change undoes only that change. Each is answered only once the transaction is on stable storage.
 *
 * A commit with an unknown outcome (an I/O error during the sync) stops all writing until the node is restarted. SQLite's
 * recovery at the next opening then decides what became durable.
 */
export class Writer {
  readonly #database: WriteDatabase;
  readonly #run: TransactionStatements;
  readonly #durable: DurableCommit;
  readonly #whenReady: () => Promise<unknown> | undefined;
  #waiting: Waiting[] = [];
  #stepped: Stepped[] = [];
  /** Whether a change in steps ran since the last shared transaction. */
  #hasStepped = false;
  #scheduled = false;
  #batchTimer: NodeJS.Timeout | undefined;
  #failure: Problem | undefined;
  #idle: (() => void)[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #lastChanges = new Set<(database: WriteDatabase) => void>();
  readonly #refusal: () => Problem | undefined;
  readonly #onDurable: () => void;
  readonly #warn: (error: unknown, message: string) => void;

  constructor(database: WriteDatabase, durable: DurableCommit, options: WriterOptions = {}) {
    const { whenReady, refusal, onDurable, warn } = options;
    this.#whenReady = whenReady ?? (() => undefined);
    this.#refusal = refusal ?? (() => undefined);
    this.#onDurable = onDurable ?? (() => {});
    this.#warn = warn ?? ((error) => process.emitWarning(error instanceof Error ? error : String(error)));
    this.#database = database;
    this.#run = prepareTransaction(database);
    this.#durable = durable;
  }

  /** Why nothing can be written any more, or undefined. */
  get failure(): Problem | undefined {
    return this.#failure;
  }

  /** Runs a change in a transaction and resolves with its result when it is durable; rejects with its error. */
  write<Result>(
    change: (database: WriteDatabase) => Synchronous<Result>,
    { batched = false, reservation }: WriteOptions = {},
  ): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ change, reservation, resolve: resolve as (result: unknown) => void, reject });
      if (batched && !this.#scheduled && this.#waiting.length < MAX_BATCH)
        this.#batchTimer ??= after(BATCH_WAIT_MS, () => this.#schedule());
      else this.#schedule();
    });
  }

  /**
   * Runs a long change: a generator that yields wherever it can be interrupted. It has its own transaction, which spans
   * several turns of the event loop, so that requests are answered in between. Other changes wait until it is committed,
   * so it should still be short. Then the waiting changes get a transaction before the next change in steps.
   */
  writeInSteps<Result>(
    change: (database: WriteDatabase) => Generator<void, Synchronous<Result>, void>,
  ): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#stepped.push({ change, resolve: resolve as (result: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Calls `listener` after each commit; returns a function that removes it. */
  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Runs `change` inside each transaction, right before its commit; returns a function that removes it. If it throws, the
   * whole transaction is refused.
   */
  beforeCommit(change: (database: WriteDatabase) => void): () => void {
    this.#lastChanges.add(change);
    return () => void this.#lastChanges.delete(change);
  }

  /** Resolves when no changes are queued. */
  drained(): Promise<void> {
    if (this.#waiting.length + this.#stepped.length === 0 && !this.#scheduled) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    clearTimeout(this.#batchTimer);
    this.#batchTimer = undefined;
    if (this.#scheduled) return;
    this.#scheduled = true;
    inNextTurn(() => this.#runNext());
  }

  /** Runs one transaction, or one turn of a change in steps. Changes that arrive meanwhile wait for the next turn. */
  async #runNext(): Promise<void> {
    const [stepped] = this.#stepped;
    try {
      if (!stepped?.steps) await this.#awaitReadiness();
      const isSteppedTurn = stepped?.steps || this.#waiting.length === 0 || !this.#hasStepped;
      if (stepped && isSteppedTurn) await this.#advance(stepped);
      else await this.#commit();
    } finally {
      // An unexpected error must not leave what was queued waiting for ever.
      this.#scheduled = false;
      if (this.#waiting.length + this.#stepped.length > 0) this.#schedule();
      else for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  /** An error does not hold back the commit, whose durability does not depend on the wait. */
  async #awaitReadiness(): Promise<void> {
    try {
      await this.#whenReady();
    } catch (error) {
      this.#warn(error, 'The write-ahead log could not be checkpointed before a commit.');
    }
  }

  async #commit(): Promise<void> {
    this.#hasStepped = false;
    const begun: Waiting[] = [];
    const outcomes: (() => void)[] = [];
    const until = performance.now() + MAX_TRANSACTION_MS;
    let isEmpty = true;
    try {
      this.#begin();
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        begun.push(next);
        const outcome: Outcome = isEmpty ? this.#runFirst(next) : this.#runInSavepoint(next);
        outcomes.push(outcome.answer);
        isEmpty &&= outcome.isUndone;
        if (performance.now() > until) break;
      }
      this.#runLastChanges();
      await this.#durable.commit(this.#run.commit, () => this.#notify([...outcomes, ...this.#listeners]));
    } catch (error) {
      const refusal = this.#rollBack(error);
      // If the transaction could not begin, the queued changes would fail too.
      for (const { reject } of begun.length > 0 ? begun : this.#waiting.splice(0)) reject(refusal);
    }
  }

  /** Runs one turn of a change in steps: as many steps as fit in the time, or the commit. */
  async #advance(stepped: Stepped): Promise<void> {
    this.#hasStepped = true;
    try {
      if (this.#failure) throw this.#failure;
      if (!stepped.steps) {
        this.#begin();
        stepped.steps = this.#withLastChanges(stepped.change(this.#database));
      }
      if (!stepped.outcome) {
        stepped.outcome = runUntil(stepped.steps, performance.now() + MAX_TRANSACTION_MS);
        return;
      }
      const { value } = stepped.outcome;
      await this.#durable.commit(this.#run.commit, () => {
        this.#stepped.shift();
        this.#notify([() => stepped.resolve(value), ...this.#listeners]);
      });
    } catch (error) {
      this.#stepped.shift();
      stepped.reject(this.#rollBack(error));
    }
  }

  /** Runs the last changes as a step of their own, because they and the commit together would take too long. */
  *#withLastChanges(steps: Iterator<void, unknown, void>): Generator<void, unknown, void> {
    for (;;) {
      const { done, value } = steps.next();
      yield;
      if (!done) continue;
      this.#runLastChanges();
      return value;
    }
  }

  #begin(): void {
    const refusal = this.#failure ?? this.#refusal();
    if (refusal) throw refusal;
    this.#run.begin();
  }

  #runLastChanges(): void {
    for (const change of this.#lastChanges) change(this.#database);
  }

  /** Notifies everyone of a durable commit. An error of one callback does not keep the others from being called. */
  #notify(calls: readonly (() => void)[]): void {
    for (const call of [this.#onDurable, ...calls]) {
      try {
        call();
      } catch (error) {
        this.#warn(error, 'A listener for commits failed.');
      }
    }
  }

  /**
   * Runs a change in a transaction that has no other yet, which is begun again if it fails. Within a savepoint, SQLite
   * would keep every page that it changes in memory, and walk through all of them at the end of each statement that has a
   * trigger: 5,000 files of a pack then take seconds instead of a tenth of one.
   */
  #runFirst(waiting: Waiting): Outcome {
    return this.#runOne(waiting, () => {
      this.#run.rollBack();
      this.#run.begin();
    });
  }

  #runInSavepoint(waiting: Waiting): Outcome {
    this.#run.savepoint();
    const outcome = this.#runOne(waiting, this.#run.undo);
    this.#run.release();
    return outcome;
  }

  #runOne({ change, reservation, resolve, reject }: Waiting, undo: () => void): Outcome {
    try {
      const result = change(this.#database);
      const answer = () => {
        try {
          reservation?.release();
        } finally {
          resolve(result);
        }
      };
      return { isUndone: false, answer };
    } catch (error) {
      // A full disk or an I/O error ends the whole transaction, so all of its changes are refused.
      if (!this.#database.inTransaction || isStorageError(error)) throw error;
      undo();
      return { isUndone: true, answer: () => reject(error) };
    }
  }

  /** Rolls back the transaction and returns the error for its changes. */
  #rollBack(error: unknown): unknown {
    if (this.#failure) return this.#failure;
    try {
      if (this.#database.inTransaction) this.#run.rollBack();
    } catch (cause) {
      this.#failure = storageFailed(cause);
    }
    if (isFull(error)) {
      return new Problem(
        'disk_nearly_full',
        'The disk is full; nothing was written. Free some space and try again.',
        {
          cause: error,
        },
      );
    }
    if (isStorageError(error) || this.#durable.hasUnsyncedCommit) this.#failure = storageFailed(error);
    return this.#failure ?? error;
  }
}

/** Runs steps until that time. Returns the result of the generator once it is done. */
function runUntil(steps: Iterator<void, unknown, void>, until: number): { value: unknown } | undefined {
  do {
    const { done, value } = steps.next();
    if (done) return { value };
  } while (performance.now() <= until);
  return undefined;
}

/** Space, or an amount of a budget, that is held until the rows that count it are committed or refused. */
export interface Reservation {
  /** Releases what is still held; calling it again does nothing. */
  release(): void;
}

interface WriteOptions {
  /** Waits briefly for other changes, to share the commit with them. */
  batched?: boolean;
  /**
   * Released in the turn of the event loop in which readers begin to see the change, so that the amount is neither
   * missed nor counted twice. If the change fails, its caller releases it.
   */
  reservation?: Reservation | undefined;
}

/** The statements of a transaction, prepared once. */
interface TransactionStatements {
  begin: () => void;
  commit: () => void;
  rollBack: () => void;
  savepoint: () => void;
  release: () => void;
  undo: () => void;
}

/** Prepares the statements of a transaction on the writing connection. */
function prepareTransaction(database: WriteDatabase): TransactionStatements {
  const prepare = (sql: string) => {
    const statement = database.prepare(sql);
    return () => void statement.run();
  };
  return {
    begin: prepare('BEGIN IMMEDIATE'),
    commit: prepare('COMMIT'),
    rollBack: prepare('ROLLBACK'),
    savepoint: prepare('SAVEPOINT change'),
    release: prepare('RELEASE change'),
    undo: prepare('ROLLBACK TO change'),
  };
}
