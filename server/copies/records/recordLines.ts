import { certificatesOf } from '../../../shared/collection/connection.ts';
import type { RecordedRetrieval } from '../../../shared/collection/retrieval.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { DUMP_KINDS, dumpLinesBetween, iterateDumpLines } from '../../store/sqlite/node/dump.ts';

/** The kinds of lines that no ledger entry records. They can change, so they are in the file of the state. */
const STATE_KINDS = [
  'source',
  'round',
  'event_noise',
  'case',
  'timestamp',
  'cosignature',
  'witnessed_log',
  'witness_refusal',
] as const;

/** The kinds of lines that ledger entries record, except entries and retrievals, which have numbers of their own. */
const RECORD_KINDS = DUMP_KINDS.filter(
  (kind) => kind !== 'entry' && kind !== 'retrieval' && !(STATE_KINDS as readonly string[]).includes(kind),
);

/** A line of a file of records, and what it names. */
export interface RecordLine {
  line: string;
  /** The digests of the stored objects that the record names. */
  objects: string[];
}

interface Recorded {
  ledger_entry: number;
  record?: { files?: { sha256: string }[] };
}

/**
 * Yields the lines of the ledger entries `first` to `last`: each entry, then what it records. After the line of a batch
 * come the retrievals that it covers. The lines are those of a dump.
 */
export function* recordLines(database: ReadDatabase, first: number, last: number): Generator<RecordLine> {
  const records = new Map<number, (RecordLine & { kind: string })[]>();
  for (const kind of RECORD_KINDS) {
    for (const line of dumpLinesBetween(database, kind, first, last)) {
      const { ledger_entry, record } = JSON.parse(line) as Recorded;
      const objects = kind === 'pack' ? (record?.files ?? []).map(({ sha256 }) => sha256) : [];
      // A mirrored pack has two: the pack, and its provenance.
      records.set(ledger_entry, [...(records.get(ledger_entry) ?? []), { kind, line, objects }]);
    }
  }
  for (const line of dumpLinesBetween(database, 'entry', first, last)) {
    yield { line, objects: [] };
    const { seq } = JSON.parse(line) as { seq: number };
    for (const recorded of records.get(seq) ?? []) {
      yield recorded;
      if (recorded.kind === 'retrieval_batch') yield* retrievalLines(database, recorded.line);
    }
  }
}

/** The number of retrievals read at once. */
const RETRIEVALS_AT_ONCE = 1_000;

function* retrievalLines(database: ReadDatabase, batch: string): Generator<RecordLine> {
  const covered = JSON.parse(batch) as { first: number; last: number };
  for (let first = covered.first; first <= covered.last; first += RETRIEVALS_AT_ONCE) {
    const last = Math.min(covered.last, first + RETRIEVALS_AT_ONCE - 1);
    for (const line of dumpLinesBetween(database, 'retrieval', first, last)) {
      const retrieval = JSON.parse(line) as RecordedRetrieval;
      const certificates = certificatesOf(retrieval).map(({ sha256 }) => sha256);
      yield { line, objects: retrieval.sha256 === null ? certificates : [retrieval.sha256, ...certificates] };
    }
  }
}

/** Yields the lines of what can change, from a snapshot. */
export function* stateLines(snapshot: ReadDatabase): Generator<string> {
  for (const kind of STATE_KINDS) yield* iterateDumpLines(snapshot, kind);
}
