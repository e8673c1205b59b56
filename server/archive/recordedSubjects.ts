import { type PackRecord, tagOf } from '../../shared/archive/pack.ts';
import { setOfPart } from '../../shared/archive/set.ts';
import type { ArchiveNode } from '../../shared/archive/study.ts';
import type { RecordedDeposit } from '../../shared/node/deposit.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { fingerprintOver, sha256Of } from '../ledger/entry.ts';
import { type RecordedSubject, type RecordedSubjects, subjectsOf } from '../ledger/verifyLedger.ts';
import { iteratePackDeposits } from '../store/sqlite/archive/deposits.ts';
import {
  type FlagRow,
  filesOfPack,
  iterateFlags,
  iterateStoredPacks,
  recordTexts,
  type StoredPack,
} from '../store/sqlite/archive/packs.ts';
import { manifestsWith } from '../store/sqlite/archive/sets.ts';
import {
  iterateStatuses,
  iterateStudies,
  iterateTreeNodes,
  type StatusRow,
  type StudyRow,
} from '../store/sqlite/archive/studies.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { commentDigest, iterateComments } from './comments.ts';
import { setIdOf } from './sets/setRecords.ts';

/**
 * Generates every pack with the digest of its record. Lists, blobs and exports use columns that repeat parts of the
 * record. If these differ from the record, a digest of the columns is returned instead, so that verification fails. A
 * record without its own pack row is omitted, because readers can no longer reach that pack.
 */
function* recordedPacks(database: ReadDatabase): Generator<RecordedSubject> {
  const setOf = setsByManifest(database);
  for (const pack of iterateStoredPacks(database)) {
    const digest = sha256Of(pack.record);
    if (pack.digest !== digest || pack.id !== `pk_${digest.slice(0, 20)}`) {
      if (pack.digest !== null)
        yield { seq: pack.ledger_entry, digest: sha256Of(`${pack.id} ${pack.digest}`) };
      continue;
    }
    const expected = expectedColumns(pack, (set) =>
      manifestsWith(database, pack.id ?? '').some((manifest) => setOf(manifest) === set),
    );
    const actual = canonicalText({ ...rowOf(pack), files: filesOfPack(database, pack.ledger_entry) });
    yield { seq: pack.ledger_entry, digest: actual === expected ? digest : sha256Of(actual) };
  }
}

/** Returns a function that reads the id of the set of a manifest, each once. */
function setsByManifest(database: ReadDatabase): (manifest: number) => string | undefined {
  const sets = new Map<number, string | undefined>();
  return (manifest) => {
    if (!sets.has(manifest)) {
      const [stored] = recordTexts(database, [manifest]);
      sets.set(manifest, stored && setIdOf(JSON.parse(stored.record) as PackRecord));
    }
    return sets.get(manifest);
  };
}

/**
 * Returns the expected columns of a pack's rows as text; undefined if the record is not JSON, which its digest shows. A
 * pack is a part of a set if it says so, or if a manifest of that set names it.
 */
function expectedColumns(
  pack: Pick<StoredPack, 'record' | 'part_of' | 'tag_of_original'>,
  isNamedBy: (set: string) => boolean,
): string | undefined {
  let record: PackRecord;
  try {
    record = JSON.parse(pack.record) as PackRecord;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const { outcome, study, supersedes, replicates, files } = record;
  const isNamed = pack.part_of !== null && isNamedBy(pack.part_of);
  const own = setOfPart(record) ?? null;
  return canonicalText({
    outcome,
    study: own === null && isNamed ? null : study,
    supersedes,
    replicates: replicates?.pack ?? null,
    verdict: replicates?.verdict ?? null,
    original_had_method: pack.tag_of_original === null ? null : Number(pack.tag_of_original === 'replicable'),
    tag: tagOf(record),
    part_of: own ?? (isNamed ? pack.part_of : null),
    files,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    count: files.length,
  });
}

function rowOf({ bytes, files: count, ...row }: StoredPack): object {
  const { outcome, study, supersedes, replicates, verdict, original_had_method, tag, part_of } = row;
  return { outcome, study, supersedes, replicates, verdict, original_had_method, tag, part_of, bytes, count };
}

/*
 * The ledger entries of the data-pack archive. The `digest` of an entry is the SHA-256 of the canonical JSON (RFC 8785)
 * of exactly these fields. The API returns all of them, so anyone can recompute the digest:
 *
 * | Type           | Subject       | Recorded fields                                                           |
 * |----------------|---------------|---------------------------------------------------------------------------|
 * | node.created   | the path      | {created_at, description, path, title}                                    |
 * | study.created  | the study id  | {created_at, description, id, node, question, status, title}; `status` is |
 * |                |               | the one it was created with: the first of `status_history`                |
 * | study.status   | the study id  | {at, note, status, study}                                                 |
 * | pack.added     | the pack id   | the record, so that the digest is the pack's fingerprint                  |
 * | pack.flagged   | the pack id   | {at, note, pack, reason}                                                  |
 * | comment.added  | the comment id| {at, author, body, id, item, reply_to}                                    |
 * | pack.deposited | the pack id   | {at, doi, pack, repository, url}                                          |
 */

export const nodeDigest: (node: Omit<ArchiveNode, 'ledger_entry'>) => string = fingerprintOver([
  'path',
  'title',
  'description',
  'created_at',
]);

type RecordedStudy = Omit<StudyRow, 'ledger_entry' | 'status'> & { status: StudyRow['status'] | null };

export const studyDigest: (study: RecordedStudy) => string = fingerprintOver([
  'id',
  'title',
  'question',
  'description',
  'node',
  'status',
  'created_at',
]);

export const statusDigest: (step: Omit<StatusRow, 'ledger_entry'>) => string = fingerprintOver([
  'study',
  'status',
  'note',
  'at',
]);

export const flagDigest: (flag: FlagRow) => string = fingerprintOver(['pack', 'reason', 'note', 'at']);

/** The digest that an entry `pack.deposited` records. */
export const depositDigest: (deposit: RecordedDeposit) => string = fingerprintOver([
  'pack',
  'doi',
  'url',
  'repository',
  'at',
]);

/** For each type, a function that recomputes the digests from the current rows, for the verification of the ledger. */
export const ARCHIVE_SUBJECTS: readonly RecordedSubjects[] = [
  subjectsOf('node.created', iterateTreeNodes, nodeDigest),
  subjectsOf('study.created', iterateStudies, studyDigest),
  subjectsOf('study.status', iterateStatuses, statusDigest),
  { types: ['pack.added'], digests: recordedPacks },
  subjectsOf('pack.flagged', iterateFlags, flagDigest),
  subjectsOf('comment.added', iterateComments, commentDigest),
  subjectsOf('pack.deposited', iteratePackDeposits, depositDigest),
];
