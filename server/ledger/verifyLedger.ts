import { type EntryType, type LedgerEntry, type LedgerProblem, NO_HASH } from '../../shared/ledger/ledger.ts';
import { TILE_WIDTH } from '../../shared/proof/ledger/tree.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import { iterateEntries, tileHashes } from '../store/sqlite/node/ledger.ts';
import { entryText, hashOf } from './entry.ts';
import { GrowingTree, LeafBuffer, rootAt } from './tree.ts';

/**
 * Recomputes what ledger entries of these types recorded: one digest for each recorded row, in the order of `seq`. Each
 * service provides it for its own rows. An entry type belongs to exactly one of these.
 */
export interface RecordedSubjects {
  types: readonly EntryType[];
  /** Yields the digests, and problems found in the rows themselves. */
  digests: (database: ReadDatabase) => Iterable<RecordedSubject | LedgerProblem>;
}

/** A row recorded by ledger entry `seq`, with the digest of its current canonical JSON. */
export interface RecordedSubject {
  seq: number;
  digest: string;
}

/** Returns the subjects of a type of which each row has its entry, and is hashed by itself. */
export function subjectsOf<Row extends { ledger_entry: number }>(
  type: EntryType,
  rowsOf: (database: ReadDatabase) => Iterable<Row>,
  digestOf: (row: Row) => string,
): RecordedSubjects {
  return {
    types: [type],
    *digests(database) {
      for (const row of rowsOf(database)) yield { seq: row.ledger_entry, digest: digestOf(row) };
    },
  };
}

export interface LedgerFindings {
  size: number;
  head: string;
  root: string;
  problems: LedgerProblem[];
}

/** Bounds the memory for a ledger with a million broken links. */
const MAX_PROBLEMS = 1_000;

/**
 * Recomputes every entry, link, tile, the root and every recorded digest, in one snapshot and one pass.
 * Synchronous: run it in a worker.
 *
 * @param onProgress is called every `PROGRESS_EVERY` entries with the number of checked entries.
 */
export function verifyLedger(
  database: ReadDatabase,
  subjects: readonly RecordedSubjects[],
  onProgress: (checked: number) => void = () => {},
): LedgerFindings {
  return onSnapshot(database, () => {
    const pass = new Pass(database, subjects);
    for (const entry of iterateEntries(database)) {
      pass.check(entry);
      if (pass.checked % PROGRESS_EVERY === 0) onProgress(pass.checked);
    }
    return pass.end();
  });
}

const PROGRESS_EVERY = 5_000;

class Pass {
  readonly #database: ReadDatabase;
  readonly #expected: Map<EntryType, SubjectCursor>;
  readonly #cursors: SubjectCursor[];
  readonly #problems: LedgerProblem[] = [];
  readonly #tree = new GrowingTree();
  /** The leaves since the last complete tile. */
  readonly #leaves = new LeafBuffer(TILE_WIDTH);
  #seq = 0;
  #hash = NO_HASH;
  checked = 0;

  constructor(database: ReadDatabase, subjects: readonly RecordedSubjects[]) {
    this.#database = database;
    this.#cursors = subjects.map(
      ({ digests }) => new SubjectCursor(digests(database), (problem) => this.#add(problem)),
    );
    this.#expected = new Map(
      subjects.flatMap(({ types }, index) =>
        types.map((type) => [type, this.#cursors[index] as SubjectCursor] as const),
      ),
    );
  }

  check(entry: LedgerEntry): void {
    this.checked += 1;
    if (entry.seq !== this.#seq + 1)
      this.#report(entry.seq, 'missing_entry', String(this.#seq + 1), String(entry.seq));
    if (entry.prev !== this.#hash)
      this.#report(entry.seq, 'wrong_prev', this.#hash, entry.prev, entry.subject);
    const hash = hashOf(entry);
    if (entry.hash !== hash) this.#report(entry.seq, 'wrong_hash', hash, entry.hash, entry.subject);
    this.#checkSubject(entry);
    this.#leaves.append(entryText(entry));
    if (this.#leaves.isFull) this.#checkTile(this.#leaves.drainRoot());
    this.#seq = entry.seq;
    this.#hash = entry.hash;
  }

  #checkSubject(entry: LedgerEntry): void {
    const cursor = this.#expected.get(entry.type);
    if (cursor) this.#skipUnrecorded(cursor, entry.seq);
    const actual = cursor?.ahead?.seq === entry.seq ? cursor.ahead.digest : null;
    const { seq, digest, subject } = entry;
    if (actual === null) return this.#report(seq, 'missing_subject', digest, null, subject);
    if (actual !== digest) this.#report(seq, 'wrong_digest', digest, actual, subject);
    cursor?.advance();
  }

  /** Rows before this entry refer to an entry that does not exist, or that is of another type. */
  #skipUnrecorded(cursor: SubjectCursor, seq: number): void {
    for (; cursor.ahead && cursor.ahead.seq < seq; cursor.advance()) {
      this.#report(cursor.ahead.seq, 'missing_entry', cursor.ahead.digest, null);
    }
  }

  #checkTile(root: Buffer): void {
    this.#tree.append(root, TILE_WIDTH);
    const position = this.#tree.size / TILE_WIDTH - 1;
    const [stored] = tileHashes(this.#database, 1, position, position + 1);
    if (!stored?.equals(root)) {
      this.#report(this.#tree.size, 'wrong_root', root.toString('hex'), stored?.toString('hex') ?? null);
    }
  }

  /** Compares the root with the published one, which is computed from tiles of all levels. */
  #checkRoot(root: Buffer): void {
    const published = rootAt(this.#database, this.#seq);
    if (published.equals(root)) return;
    this.#report(this.#seq, 'wrong_root', root.toString('hex'), published.toString('hex'));
  }

  #report(
    seq: number,
    problem: LedgerProblem['problem'],
    expected: string | null,
    actual: string | null,
    subject: string | null = null,
  ): void {
    this.#add({ seq, problem, subject, expected, actual });
  }

  #add(problem: LedgerProblem): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }

  end(): LedgerFindings {
    for (const cursor of this.#cursors) {
      this.#skipUnrecorded(cursor, Number.POSITIVE_INFINITY);
      cursor.close();
    }
    for (const leaf of this.#leaves.leaves()) this.#tree.append(leaf);
    const root = this.#tree.root();
    this.#checkRoot(root);
    return {
      size: this.checked,
      head: this.#hash,
      root: root.toString('hex'),
      problems: this.#problems,
    };
  }
}

/** Iterates over recorded rows in step with the ledger; both are in the order of `seq`. */
class SubjectCursor {
  readonly #rows: Iterator<RecordedSubject | LedgerProblem>;
  readonly #onProblem: (problem: LedgerProblem) => void;
  /** The next subject, or undefined when there is none left. */
  ahead: RecordedSubject | undefined;

  constructor(rows: Iterable<RecordedSubject | LedgerProblem>, onProblem: (problem: LedgerProblem) => void) {
    this.#rows = rows[Symbol.iterator]();
    this.#onProblem = onProblem;
    this.advance();
  }

  advance(): void {
    let step = this.#rows.next();
    for (; !step.done && 'problem' in step.value; step = this.#rows.next()) this.#onProblem(step.value);
    this.ahead = step.done ? undefined : (step.value as RecordedSubject);
  }

  close(): void {
    this.#rows.return?.();
  }
}
