import type {
  Finding,
  FindingDetails,
  FindingsFilter,
  FindingsQuery,
  FindingTarget,
  NewFinding,
  PlacedFinding,
  RecordedFinding,
} from '../../shared/findings/finding.ts';
import { textFragment } from '../../shared/findings/textFragment.ts';
import { Problem } from '../../shared/problems.ts';
import type { Slice } from '../../shared/values/list.ts';
import { appendEntry } from '../ledger/appendEntry.ts';
import { fingerprintOver } from '../ledger/entry.ts';
import type { RecordedSubjects } from '../ledger/verifyLedger.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { hasRow, onSnapshot, selectAll } from '../store/sqlite/engine/queries.ts';
import { matchExpression } from '../store/sqlite/engine/search.ts';
import type { Store } from '../store/store.ts';
import { marksOf, type Reader, unreadable } from '../withholding/withholding.ts';
import {
  type FindingSelection,
  findingById,
  hiddenOfTarget,
  historyOf,
  insertFinding,
  isObjectOf,
  iterateFindings,
  selectFindings,
  targetText,
} from './findingRows.ts';
import { type FindsPassages, withPlace } from './passageAnchors.ts';

/**
 * Records a finding. Its passage is placed in the text of its object.
 *
 * @throws Problem `unknown_target` if the archive does not hold the target, or the quoted object does not belong to it;
 * `unknown_finding`, `finding_superseded` for `supersedes`
 */
export async function addFinding(
  store: Store,
  added: NewFinding,
  passages: Pick<FindsPassages, 'place'>,
): Promise<Finding> {
  requireAddable(store.read, added);
  const placed = await withPlace(store.read, added, passages);
  return store.write((database) => addFindingNow(database, store, placed));
}

/** Like `addFinding`, in a transaction that is open. */
export function addFindingNow(
  database: WriteDatabase,
  store: Pick<Store, 'instant' | 'randomHex'>,
  added: PlacedFinding,
): Finding {
  const id = `fi_${store.randomHex(20)}`;
  const found = requireAddable(database, added);
  return record(database, { ...added, id, at: store.instant(), withdrawal: null }, found);
}

/** Requires that a finding can be added. Returns what its target is found by. */
export function requireAddable(database: ReadDatabase, added: NewFinding): string {
  const found = requireTarget(database, added.target);
  const { sha256 } = added.passage ?? {};
  if (sha256 && !isObjectOf(database, added.target, sha256))
    throw refused('unknown_target', '/passage/sha256', `${sha256} is not an object of this target.`);
  requireSupersedable(database, added);
  return found;
}

/** Withdraws a finding with a reason. @throws Problem `not_found`, `finding_superseded`, `finding_sealed` */
export async function withdrawFinding(store: Store, withdrawn: string, reason: string): Promise<Finding> {
  const id = `fi_${store.randomHex(20)}`;
  return store.write((database) => {
    const { target, ...finding } = requireFinding(database, withdrawn);
    requireCurrent(finding);
    const recorded = {
      id,
      at: store.instant(),
      target,
      text: '',
      tags: [],
      passage: null,
      supersedes: withdrawn,
      withdrawal: reason,
    };
    return record(database, recorded, targetText(database, target) ?? target.id);
  });
}

function record(database: WriteDatabase, recorded: RecordedFinding, found: string): Finding {
  const { id, at, withdrawal } = recorded;
  const { seq } = appendEntry(database, {
    type: withdrawal === null ? 'finding.added' : 'finding.withdrawn',
    subject: id,
    digest: findingDigest(recorded),
    at,
  });
  insertFinding(database, { ...recorded, ledger_entry: seq }, found);
  return requireFinding(database, id);
}

function requireTarget(database: ReadDatabase, target: FindingTarget): string {
  const found = targetText(database, target);
  if (found === undefined)
    throw refused('unknown_target', '/target/id', `The archive has no ${target.kind} ${target.id}.`);
  return found;
}

function requireSupersedable(database: ReadDatabase, { supersedes, target }: NewFinding): void {
  if (supersedes === null) return;
  const superseded = findingById(database, supersedes);
  if (!superseded) {
    requireNotSealed(database, supersedes);
    throw refused('unknown_finding', '/supersedes', `There is no finding ${supersedes}.`);
  }
  if (superseded.target.kind !== target.kind || superseded.target.id !== target.id)
    throw refused('unknown_finding', '/supersedes', 'That finding has another target.');
  requireCurrent(superseded);
}

/** @throws Problem `finding_sealed` */
export function requireNotSealed(database: ReadDatabase, id: string): void {
  if (isSealed(database, id)) throw new Problem('finding_sealed', `${id} is sealed. Reveal it first.`);
}

const isSealed = hasRow<[id: string]>('SELECT 1 FROM sealed_findings WHERE id = ?');

function requireCurrent({ id, superseded_by, withdrawal }: Omit<Finding, 'target'>): void {
  if (superseded_by !== null)
    throw new Problem(
      'finding_superseded',
      `${superseded_by} already supersedes ${id}. Continue with that one.`,
    );
  if (withdrawal !== null)
    throw new Problem('finding_superseded', `${id} is a withdrawal. Add a new finding instead.`);
}

function refused(code: 'unknown_target' | 'unknown_finding', path: string, message: string): Problem {
  return new Problem(code, message, { errors: [{ path, message }] });
}

const MAX_TAGS = 500;

/** @throws Problem `not_found` */
function requireFinding(database: ReadDatabase, id: string): Finding {
  const finding = findingById(database, id);
  if (!finding) {
    requireNotSealed(database, id);
    throw new Problem('not_found', `There is no finding ${id}.`);
  }
  return finding;
}

/** Returns a finding with its other versions. @throws Problem `not_found` */
export function readFinding({ read }: Pick<Store, 'read'>, id: string, reader: Reader): FindingDetails {
  return onSnapshot(read, () => {
    const finding = withReadableQuote(read, requireFinding(read, id), reader);
    return {
      ...finding,
      history: historyOf(read, { id }).map((other) => withReadableQuote(read, other, reader)),
      evidence: evidenceOf(finding),
    };
  });
}

/** Returns where the evidence file of a finding shows its passage; null if that has no place in a text. */
function evidenceOf({ id, passage, anchor }: Finding): string | null {
  if (!passage || (!passage.derived && anchor?.state !== 'found')) return null;
  return `/api/findings/${id}/evidence${textFragment(passage.exact)}`;
}

/** Returns a page of findings, newest first. @throws Problem `invalid_parameter` */
export function listFindings(
  { read }: Pick<Store, 'read'>,
  query: FindingsQuery,
  reader: Reader,
): Slice<Finding> {
  const { items, total } = selectFindings(read, selectionOf(query, reader), query);
  return { items: items.map((finding) => withReadableQuote(read, finding, reader)), total };
}

/**
 * Returns the digest because of which a reader may not read what a finding quotes, or undefined. A passage that names no
 * object may be in any of its target.
 */
function hiddenIn(
  read: ReadDatabase,
  { passage, target }: Pick<Finding, 'passage' | 'target'>,
  reader: Reader,
): string | undefined {
  if (passage === null) return undefined;
  if (passage.sha256 === null) return hiddenOfTarget(read, target, reader);
  return unreadable(read, passage.sha256, reader) && passage.sha256;
}

/** Returns why a reader may not read what a finding quotes, or undefined. */
export function unreadableQuote(
  read: ReadDatabase,
  finding: Pick<Finding, 'passage' | 'target'>,
  reader: Reader,
): Problem | undefined {
  const hidden = hiddenIn(read, finding, reader);
  return hidden === undefined ? undefined : unreadable(read, hidden, reader);
}

/** Requires that a reader may read what a finding quotes. @throws Problem like `requireReadable` */
export function requireReadableQuote(read: ReadDatabase, finding: Finding, reader: Reader): void {
  const problem = unreadableQuote(read, finding, reader);
  if (problem) throw problem;
}

/** Returns a finding without its quotation if a reader may not read the bytes that it quotes. */
export function withReadableQuote(read: ReadDatabase, finding: Finding, reader: Reader): Finding {
  const hidden = hiddenIn(read, finding, reader);
  return hidden === undefined
    ? finding
    : {
        ...finding,
        passage: null,
        anchor: null,
        ...(finding.sealed && { sealed: { ...finding.sealed, salt: null, record: null } }),
        ...marksOf(read, hidden),
      };
}

/** Returns the most frequent tags of current findings. */
export function listFindingTags({ read }: Pick<Store, 'read'>): {
  tags: { tag: string; findings: number }[];
} {
  return { tags: frequentTags(read, MAX_TAGS) };
}

const frequentTags = selectAll<{ tag: string; findings: number }, [limit: number]>(`
  SELECT t.tag, count(*) AS findings FROM finding_tags t JOIN current_findings USING (ledger_entry)
  GROUP BY t.tag ORDER BY findings DESC, t.tag LIMIT ?`);

/** @throws Problem `invalid_parameter` if more than one target is given */
export function selectionOf(
  { q, tag, event, object, pack, state }: FindingsFilter,
  reader: Reader,
): FindingSelection {
  const targets = [
    event === undefined ? [] : { kind: 'event' as const, id: String(event) },
    object === undefined ? [] : { kind: 'object' as const, id: object },
    pack === undefined ? [] : { kind: 'pack' as const, id: pack },
  ].flat();
  if (targets.length > 1) throw new Problem('invalid_parameter', 'Give only one of event, object and pack.');
  const match = q === undefined ? undefined : matchExpression(q);
  return { match, tag, target: targets[0], state, reader };
}

/*
 * | Type              | Subject        | Recorded fields                                                      |
 * |-------------------|----------------|----------------------------------------------------------------------|
 * | finding.added     | the finding id | {at, id, passage, supersedes, tags, target, text, withdrawal}        |
 * | finding.withdrawn | the id of the  | the same; `withdrawal` is the reason, `supersedes` the finding       |
 * |                   | withdrawal     |                                                                      |
 * | finding.revealed  | the finding id | the same as of finding.added                                         |
 */
export const findingDigest: (finding: RecordedFinding) => string = fingerprintOver([
  'id',
  'at',
  'target',
  'text',
  'tags',
  'passage',
  'supersedes',
  'withdrawal',
]);

/** Recomputes the digests of all findings from their rows, for the verification of the ledger. */
export const FINDING_SUBJECTS: readonly RecordedSubjects[] = [
  {
    types: ['finding.added', 'finding.withdrawn', 'finding.revealed'],
    *digests(database) {
      for (const finding of iterateFindings(database))
        yield { seq: finding.ledger_entry, digest: findingDigest(finding) };
    },
  },
];
