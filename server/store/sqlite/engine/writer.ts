import Database from 'better-sqlite3';
import { Problem } from '../../../../shared/problems.ts';
import type { DurableCommit } from './durableCommit.ts';
import type { WriteDatabase } from './open.ts';

/** A change may not be asynchronous: the transaction would be over before it is. */
type Synchronous<Result> = Result extends PromiseLike<unknown> ? never : Result;

export interface WriteOptions {
  /** Waits a moment for others: each commit waits for the disk. */
  patient?: boolean;
  /** Called in the turn in which readers come to see the change, before anything else can be done. */
  onVisible?: (() => void) | undefined;
}

interface Waiting {
  change: (database: WriteDatabase) => unknown;
  onVisible: (() => void) | undefined;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** A change in steps that waits, or is under way. */
interface Stepped {
  change: (database: WriteDatabase) => Iterator<void, unknown, void>;
  /** The steps that are left, once it has begun. */
  steps?: Iterator<void, unknown, void>;
  /** What is told once the transaction is committed, when all steps are done. */
  outcome?: { value: unknown };
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

export interface WriterOptions {
  /** Resolves when more may be committed, where that has to be waited for. */
  room?: () => Promise<void> | undefined;
  /** Why nothing may be written for now, or undefined. */
  refusal?: () => Problem | undefined;
  /** Called when a commit is on stable storage, before anybody hears of it. */
  onDurable?: () => void;
  /** Hears what a listener threw: what is committed cannot be refused any more. */
  warn?: (error: unknown) => void;
}

/** No further change joins a transaction that has taken this long, so that none holds the event loop for long. */
const MAX_TRANSACTION_MS = 10;

/** A change that is in no hurry waits for others as long as this, or until so many wait. */
const PATIENCE_MS = 20;
const ENOUGH = 128;

/**
 * Group commit. Changes that arrive together share one transaction, each in a savepoint of its own, so that one
 * change's refusal undoes that change alone; each is answered only once the transaction is on stable storage.
 *
 * A commit whose outcome is unknown (an I/O error while syncing) ends all writing until the node is started again:
 * recovery by SQLite at the next opening then says what became durable.
 */
export class Writer {
  readonly #database: WriteDatabase;
  readonly #run: Control;
  readonly #durable: DurableCommit;
  readonly #room: () => Promise<void> | undefined;
  #waiting: Waiting[] = [];
  #stepped: Stepped[] = [];
  /** Whether a change in steps has had its turn since others had theirs. */
  #hasStepped = false;
  #scheduled = false;
  #patience: NodeJS.Timeout | undefined;
  #failure: Problem | undefined;
  #idle: (() => void)[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #lastChanges = new Set<(database: WriteDatabase) => void>();
  readonly #refusal: () => Problem | undefined;
  readonly #onDurable: () => void;
  readonly #warn: (error: unknown) => void;

  constructor(database: WriteDatabase, durable: DurableCommit, options: WriterOptions = {}) {
    const { room, refusal, onDurable, warn } = options;
    this.#room = room ?? (() => undefined);
    this.#refusal = refusal ?? (() => undefined);
    this.#onDurable = onDurable ?? (() => {});
    this.#warn = warn ?? ((error) => process.emitWarning(error instanceof Error ? error : String(error)));
    this.#database = database;
    this.#run = controlOf(database);
    this.#durable = durable;
  }

  /** Why nothing is written any more, or undefined. */
  get failure(): Problem | undefined {
    return this.#failure;
  }

  /** Runs the change in a transaction and resolves with its result when it is durable; rejects with what it threw. */
  write<Result>(
    change: (database: WriteDatabase) => Synchronous<Result>,
    { patient = false, onVisible }: WriteOptions = {},
  ): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ change, onVisible, resolve: resolve as (result: unknown) => void, reject });
      if (patient && !this.#scheduled && this.#waiting.length < ENOUGH)
        this.#patience ??= setTimeout(() => this.#schedule(), PATIENCE_MS);
      else this.#schedule();
    });
  }

  /**
   * Runs a change that takes longer than others may be held up: a generator that yields wherever it can be interrupted.
   * It has a transaction of its own, over several turns of the event loop, between which requests are answered. Other
   * changes wait until it is committed, so it does not go on for long; then it is their turn.
   */
  writeInSteps<Result>(
    change: (database: WriteDatabase) => Generator<void, Synchronous<Result>, void>,
  ): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#stepped.push({ change, resolve: resolve as (result: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Calls `listener` after each commit, until what is given back is called. */
  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Makes `change` inside each transaction, right before its commit, until what is given back is called. What it throws
   * refuses the whole transaction.
   */
  beforeCommit(change: (database: WriteDatabase) => void): () => void {
    this.#lastChanges.add(change);
    return () => void this.#lastChanges.delete(change);
  }

  /** Resolves when nothing waits to be written. */
  drained(): Promise<void> {
    if (this.#waiting.length + this.#stepped.length === 0 && !this.#scheduled) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => void this.#turn());
  }

  /** What comes while a commit waits for the disk waits for the next turn. */
  async #turn(): Promise<void> {
    const [stepped] = this.#stepped;
    if (!stepped?.steps) await this.#room();
    const isTurn = stepped?.steps || this.#waiting.length === 0 || !this.#hasStepped;
    if (stepped && isTurn) await this.#advance(stepped);
    else await this.#commit();
    this.#scheduled = false;
    if (this.#waiting.length + this.#stepped.length > 0) return this.#schedule();
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #commit(): Promise<void> {
    this.#hasStepped = false;
    const begun: Waiting[] = [];
    const outcomes: (() => void)[] = [];
    const until = performance.now() + MAX_TRANSACTION_MS;
    try {
      this.#begin();
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        begun.push(next);
        outcomes.push(this.#runInSavepoint(next));
        if (performance.now() > until) break;
      }
      this.#changeLast();
      await this.#durable.commit(this.#run.commit, () => this.#tellEach([...outcomes, ...this.#listeners]));
    } catch (error) {
      const refusal = this.#giveUp(error);
      // Where nothing could be begun, those who come later would fare no better.
      for (const { reject } of begun.length > 0 ? begun : this.#waiting.splice(0)) reject(refusal);
    }
  }

  /** One turn of a change in steps: as many steps as there is time for, or its commit. */
  async #advance(stepped: Stepped): Promise<void> {
    this.#hasStepped = true;
    try {
      if (this.#failure) throw this.#failure;
      if (!stepped.steps) {
        this.#begin();
        stepped.steps = stepped.change(this.#database);
      }
      if (!stepped.outcome) {
        stepped.outcome = runUntil(stepped.steps, performance.now() + MAX_TRANSACTION_MS);
        return;
      }
      const { value } = stepped.outcome;
      this.#changeLast();
      await this.#durable.commit(this.#run.commit, () => {
        this.#stepped.shift();
        this.#tellEach([() => stepped.resolve(value), ...this.#listeners]);
      });
    } catch (error) {
      this.#stepped.shift();
      stepped.reject(this.#giveUp(error));
    }
  }

  #begin(): void {
    const refusal = this.#failure ?? this.#refusal();
    if (refusal) throw refusal;
    this.#run.begin();
  }

  #changeLast(): void {
    for (const change of this.#lastChanges) change(this.#database);
  }

  /** Says that a commit is durable: calls all of them, whatever one of them throws: the others know nothing of it, and what they hear of is committed. */
  #tellEach(calls: readonly (() => void)[]): void {
    for (const call of [this.#onDurable, ...calls]) {
      try {
        call();
      } catch (error) {
        this.#warn(error);
      }
    }
  }

  #runInSavepoint({ change, onVisible, resolve, reject }: Waiting): () => void {
    this.#run.savepoint();
    try {
      const result = change(this.#database);
      this.#run.release();
      return () => {
        try {
          onVisible?.();
        } finally {
          resolve(result);
        }
      };
    } catch (error) {
      // A full disk or an I/O error ends the whole transaction; the others of the batch are then refused too.
      if (!this.#database.inTransaction || isStorageError(error)) throw error;
      this.#run.undo();
      this.#run.release();
      return () => reject(error);
    }
  }

  /** Undoes the transaction and says what the waiting are told. */
  #giveUp(error: unknown): unknown {
    if (this.#failure) return this.#failure;
    try {
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
    } catch (cause) {
      this.#failure = stopped(cause);
    }
    if (isFull(error)) {
      return new Problem(
        'disk_nearly_full',
        'The disk is full; nothing was written. Make room and try again.',
        {
          cause: error,
        },
      );
    }
    if (isStorageError(error) || this.#durable.hasUnsyncedCommit) this.#failure = stopped(error);
    return this.#failure ?? error;
  }
}

/** Takes steps until that time; what they come to, once there are no more. */
function runUntil(steps: Iterator<void, unknown, void>, until: number): { value: unknown } | undefined {
  do {
    const { done, value } = steps.next();
    if (done) return { value };
  } while (performance.now() <= until);
  return undefined;
}

/** The statements that every transaction consists of, prepared once. */
interface Control {
  begin: () => void;
  commit: () => void;
  savepoint: () => void;
  release: () => void;
  undo: () => void;
}

function controlOf(database: WriteDatabase): Control {
  const prepared = (sql: string) => {
    const statement = database.prepare(sql);
    return () => void statement.run();
  };
  return {
    begin: prepared('BEGIN IMMEDIATE'),
    commit: prepared('COMMIT'),
    savepoint: prepared('SAVEPOINT change'),
    release: prepared('RELEASE change'),
    undo: prepared('ROLLBACK TO change'),
  };
}

function stopped(cause: unknown): Problem {
  return new Problem(
    'storage_failed',
    'The disk failed while writing, so it is not known what was stored. Check the disk, then start the node again.',
    { cause },
  );
}

function isFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_FULL';
}

function isStorageError(error: unknown): boolean {
  return (
    error instanceof Database.SqliteError &&
    /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|CANTOPEN|PROTOCOL)/.test(error.code)
  );
}
