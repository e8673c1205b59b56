import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import {
  entriesBetween,
  iterateLines,
  iterateLinesBetween,
  linesOfEntry,
} from '../../store/sqlite/node/dumpedRows.ts';
import type { DumpKind } from '../dumpedArchive.ts';
import { ARCHIVE_KINDS, FINDING_KINDS } from './archiveKinds.ts';
import { OBSERVATION_KINDS } from './observationKinds.ts';
import { FIXITY_KINDS, OWN_PROOF_KINDS, PEER_KINDS, WITHHOLDING_KINDS, WITNESS_KINDS } from './proofKinds.ts';
import { SOURCE_KINDS } from './sourceKinds.ts';

/** The version of the dump format that is written. */
export const DUMP_FORMAT = 2;

/** The kinds of lines between header and trailer, in their order: a line comes after those that it refers to. */
export const KINDS: Readonly<Record<string, DumpKind>> = {
  ...OWN_PROOF_KINDS,
  ...ARCHIVE_KINDS,
  ...SOURCE_KINDS,
  ...OBSERVATION_KINDS,
  ...FIXITY_KINDS,
  ...PEER_KINDS,
  ...WITHHOLDING_KINDS,
  ...FINDING_KINDS,
  ...WITNESS_KINDS,
};

export const DUMP_KINDS = Object.keys(KINDS);

/** Iterates over the lines of one kind, without line ends. */
export function dumpLines(database: ReadDatabase, kind: string): IterableIterator<string> {
  return iterateLines(database, kind, rowsOf(kind));
}

/** Iterates over the lines between two numbers, both included: numbers of ledger entries, or of retrievals. */
export function dumpLinesBetween(
  database: ReadDatabase,
  kind: string,
  first: number,
  last: number,
): IterableIterator<string> {
  return iterateLinesBetween(database, kind, rowsOf(kind), [first, last]);
}

/** Returns the ledger entries between two numbers, both included, that record lines of one kind. */
export function recordingEntries(
  database: ReadDatabase,
  kind: string,
  first: number,
  last: number,
): number[] {
  return entriesBetween(database, rowsOf(kind), [first, last]);
}

/** Returns the lines of one kind that a ledger entry records. */
export function dumpLinesOfEntry(database: ReadDatabase, kind: string, entry: number): string[] {
  return linesOfEntry(database, kind, rowsOf(kind), entry);
}

function rowsOf(kind: string): DumpKind['rows'] {
  const found = KINDS[kind];
  if (!found) throw new TypeError(`A dump has no lines of the kind ${kind}.`);
  return found.rows;
}
