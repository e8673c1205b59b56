import { type EntryType, type LedgerEntry, type LedgerProblem, NO_HASH } from '../../shared/ledger.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { iterateEntries, tileHashes } from '../store/sqlite/node/ledger.ts';
import { entryText, hashOf } from './entry.ts';
import { GrowingTree, LeafRow } from './merkle.ts';
import { rootAt, TILE_WIDTH } from './tree.ts';

/**
 * How the rooms that own the subjects let their records be recomputed: each row of the archive that a ledger entry of
 * these types recorded, in the order of `seq`. An entry type belongs to exactly one of these.
 */
export interface RecordedSubjects {
  types: readonly EntryType[];
  /** What of the rows themselves is wrong comes between them, as the problem that it is. */
  digests: (database: ReadDatabase) => Iterable<RecordedSubject | LedgerProblem>;
}

/** A row of the archive that ledger entry `seq` recorded, with the digest of its canonical JSON as it stands now. */
export interface RecordedSubject {
  seq: number;
  digest: string;
}

export interface LedgerFindings {
  size: number;
  head: string;
  root: string;
  problems: LedgerProblem[];
}

/** More would help nobody, and a ledger of a million broken links must not fill the memory. */
const MAX_PROBLEMS = 1_000;

/**
 * Recomputes every entry, link, tile, the root and every recorded digest, in one snapshot and one pass.
 * Synchronous: run it in a worker.
 *
 * @param tell is called about every `PROGRESS_EVERY` entries with how many were checked.
 */
export function verifyLedger(
  database: ReadDatabase,
  subjects: readonly RecordedSubjects[],
  tell: (checked: number) => void = () => {},
): LedgerFindings {
  return database
    .transaction(() => {
      const pass = new Pass(database, subjects);
      for (const entry of iterateEntries(database)) {
        pass.check(entry);
        if (pass.checked % PROGRESS_EVERY === 0) tell(pass.checked);
      }
      return pass.end();
    })
    .deferred();
}

const PROGRESS_EVERY = 5_000;

class Pass {
  readonly #database: ReadDatabase;
  readonly #expected: Map<EntryType, SubjectCursor>;
  readonly #cursors: SubjectCursor[];
  readonly #problems: LedgerProblem[] = [];
  readonly #tree = new GrowingTree();
  /** The leaves that no whole tile sums up yet. */
  readonly #row = new LeafRow(TILE_WIDTH);
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
      this.#tell(entry.seq, 'missing_entry', String(this.#seq + 1), String(entry.seq));
    if (entry.prev !== this.#hash) this.#tell(entry.seq, 'wrong_prev', this.#hash, entry.prev, entry.subject);
    const hash = hashOf(entry);
    if (entry.hash !== hash) this.#tell(entry.seq, 'wrong_hash', hash, entry.hash, entry.subject);
    this.#checkSubject(entry);
    this.#row.append(entryText(entry));
    if (this.#row.isFull) this.#checkTile(this.#row.takeRoot());
    this.#seq = entry.seq;
    this.#hash = entry.hash;
  }

  #checkSubject(entry: LedgerEntry): void {
    const cursor = this.#expected.get(entry.type);
    if (cursor) this.#skipUnrecorded(cursor, entry.seq);
    const actual = cursor?.ahead?.seq === entry.seq ? cursor.ahead.digest : null;
    const { seq, digest, subject } = entry;
    if (actual === null) return this.#tell(seq, 'missing_subject', digest, null, subject);
    if (actual !== digest) this.#tell(seq, 'wrong_digest', digest, actual, subject);
    cursor?.advance();
  }

  /** What a cursor holds before this entry names an entry that is not there, or is another's. */
  #skipUnrecorded(cursor: SubjectCursor, seq: number): void {
    for (; cursor.ahead && cursor.ahead.seq < seq; cursor.advance()) {
      this.#tell(cursor.ahead.seq, 'missing_entry', cursor.ahead.digest, null);
    }
  }

  #checkTile(root: Buffer): void {
    this.#tree.append(root, TILE_WIDTH);
    const position = this.#tree.size / TILE_WIDTH - 1;
    const [stored] = tileHashes(this.#database, 1, position, position + 1);
    if (!stored?.equals(root)) {
      this.#tell(this.#tree.size, 'wrong_root', root.toString('hex'), stored?.toString('hex') ?? null);
    }
  }

  /** The root that the node publishes is computed from tiles of every level: it must be the one computed here. */
  #checkRoot(root: Buffer): void {
    const published = rootAt(this.#database, this.#seq);
    if (published.equals(root)) return;
    this.#tell(this.#seq, 'wrong_root', root.toString('hex'), published.toString('hex'));
  }

  #tell(
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
    for (const leaf of this.#row.leaves()) this.#tree.append(leaf);
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

/** Walks the subjects of some types beside the ledger; both come in the order of `seq`. */
class SubjectCursor {
  readonly #rows: Iterator<RecordedSubject | LedgerProblem>;
  readonly #tell: (problem: LedgerProblem) => void;
  /** The next subject, or undefined when there is none left. */
  ahead: RecordedSubject | undefined;

  constructor(rows: Iterable<RecordedSubject | LedgerProblem>, tell: (problem: LedgerProblem) => void) {
    this.#rows = rows[Symbol.iterator]();
    this.#tell = tell;
    this.advance();
  }

  advance(): void {
    let step = this.#rows.next();
    for (; !step.done && 'problem' in step.value; step = this.#rows.next()) this.#tell(step.value);
    this.ahead = step.done ? undefined : (step.value as RecordedSubject);
  }

  close(): void {
    this.#rows.return?.();
  }
}
