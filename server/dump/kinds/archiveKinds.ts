import { z } from 'zod';
import { commentIdSchema, itemIdSchema, newCommentSchema } from '../../../shared/archive/comment.ts';
import { newFlagSchema } from '../../../shared/archive/pack.ts';
import {
  newNodeSchema,
  newStatusSchema,
  newStudySchema,
  nodePathSchema,
  STUDY_TRANSITIONS,
} from '../../../shared/archive/study.ts';
import { storedCaseSchema } from '../../../shared/findings/case.ts';
import { recordedFindingSchema, saltSchema } from '../../../shared/findings/finding.ts';
import { ledgerEntrySchema } from '../../../shared/ledger/ledger.ts';
import { recordedDepositSchema } from '../../../shared/node/deposit.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { digestSchema, packIdSchema, studyIdSchema } from '../../../shared/values/digest.ts';
import { instantSchema } from '../../../shared/values/text.ts';
import { commentDigest } from '../../archive/comments.ts';
import { checkRecord } from '../../archive/packs/checkRecord.ts';
import { insertFlagRows, insertPackRows } from '../../archive/packs/packRows.ts';
import {
  depositDigest,
  flagDigest,
  nodeDigest,
  statusDigest,
  studyDigest,
} from '../../archive/recordedSubjects.ts';
import { insertFinding, recordOfFinding, targetText } from '../../findings/findingRows.ts';
import { findingDigest } from '../../findings/findings.ts';
import { commitmentTo, insertRevealed, insertSealed } from '../../findings/sealed.ts';
import { fingerprintOf } from '../../ledger/entry.ts';
import { appendTiles } from '../../ledger/tree.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { insertStatus, insertStudy, insertTreeNode } from '../../store/sqlite/archive/studies.ts';
import { entryAt, insertEntry } from '../../store/sqlite/node/ledger.ts';
import {
  type DumpedArchive,
  type DumpKind,
  kind,
  line,
  number,
  recorded,
  requireThat,
} from '../dumpedArchive.ts';

const entry = kind({
  schema: line('entry', ledgerEntrySchema.shape),
  rows: { from: 'ledger', order: 'seq' },
  order: ({ seq }) => seq,
  check: (archive, value, at) => archive.ledger.add(value, at),
  restore: (database, value) => {
    insertEntry(database, value);
    appendTiles(database, value.seq);
  },
});

const node = recorded({
  schema: line('node', {
    path: nodePathSchema,
    title: newNodeSchema.shape.title,
    description: newNodeSchema.shape.description.unwrap(),
    created_at: instantSchema,
    ledger_entry: number,
  }),
  rows: 'nodes',
  types: ['node.created'],
  digest: nodeDigest,
  check: ({ nodes }, { path }, at) => {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    requireThat(parent === '' || nodes.has(parent), 'no earlier line defines the subject above it.', at);
    requireThat(!nodes.has(path), 'an earlier line defines a node at this path.', at);
    nodes.add(path);
  },
  restore: (database, { kind: _kind, ...value }) => {
    const { path } = value;
    const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : null;
    insertTreeNode(database, { ...value, parent });
  },
});

const study = recorded({
  schema: line('study', {
    id: studyIdSchema,
    title: newStudySchema.shape.title,
    question: newStudySchema.shape.question.unwrap(),
    description: newStudySchema.shape.description.unwrap(),
    node: newStudySchema.shape.node.unwrap(),
    status: newStudySchema.shape.status.unwrap(),
    created_at: instantSchema,
    ledger_entry: number,
  }),
  rows: {
    from: 'studies s JOIN study_statuses h USING (ledger_entry)',
    expressions: { status: 'h.status' },
  },
  types: ['study.created'],
  digest: studyDigest,
  check: ({ nodes, studies }, { id, node: path, status }, at) => {
    requireThat(path === null || nodes.has(path), 'no earlier line defines its node.', at);
    requireThat(!studies.has(id), 'an earlier line defines a study with this id.', at);
    studies.set(id, status);
  },
  restore: (database, value) => {
    insertStudy(database, value);
    const { id, status, created_at, ledger_entry } = value;
    insertStatus(database, { study: id, status, note: '', at: created_at, ledger_entry });
  },
});

const studyStatus = recorded({
  schema: line('study_status', {
    study: studyIdSchema,
    status: newStatusSchema.shape.status,
    note: newStatusSchema.shape.note.unwrap(),
    at: instantSchema,
    ledger_entry: number,
  }),
  rows: {
    from: 'study_statuses h',
    where: 'NOT EXISTS (SELECT 1 FROM studies s WHERE s.ledger_entry = h.ledger_entry)',
  },
  types: ['study.status'],
  digest: statusDigest,
  check: ({ studies }, step, at) => {
    const before = studies.get(step.study);
    requireThat(before !== undefined, 'no earlier line defines its study.', at);
    requireThat(STUDY_TRANSITIONS[before].includes(step.status), 'a study cannot change to this status.', at);
    studies.set(step.study, step.status);
  },
  restore: insertStatus,
});

const packSchema = line('pack', {
  id: packIdSchema,
  digest: digestSchema,
  received_at: instantSchema,
  ledger_entry: number,
  // Checked by `checkRecord`, like that of an upload.
  record: z.custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null),
});

const pack = recorded({
  schema: packSchema,
  rows: {
    from: 'packs p JOIN pack_records r USING (ledger_entry) JOIN ledger l ON l.seq = p.ledger_entry',
    order: 'p.ledger_entry',
    // The record is in its canonical form, which `json_object` would not keep.
    line: `'{"kind":"pack","id":"' || p.id || '","digest":"' || p.digest || '","received_at":"' || l.at ||
      '","ledger_entry":' || p.ledger_entry || ',"record":' || r.record || '}'`,
  },
  types: ['pack.added'],
  digest: ({ record }) => fingerprintOf(record),
  check: checkPack,
  restore: (database, { record, ledger_entry }) => {
    const at = entryAt(database, ledger_entry)?.at ?? '';
    insertPackRows(database, checkRecord(record), ledger_entry, at);
  },
});

function checkPack(
  archive: DumpedArchive,
  { id, digest, received_at, ledger_entry, record }: z.output<typeof packSchema>,
  at: number,
): void {
  const checked = checkRecord(record);
  requireThat(checked.text === canonicalText(record), 'its record omits fields.', at);
  requireThat(
    checked.digest === digest && checked.id === id,
    'its id or digest is not that of its record.',
    at,
  );
  requireThat(
    Date.parse(received_at) === archive.ledger.timeOf(ledger_entry),
    'its received_at is not the time of its entry.',
    at,
  );
  const { node: path, study: of, replicates, supersedes } = checked.record;
  requireThat(path === null || archive.nodes.has(path), 'no earlier line defines its node.', at);
  requireThat(of === null || archive.studies.has(of), 'no earlier line defines its study.', at);
  for (const other of [replicates?.pack, supersedes])
    requireThat(!other || archive.packs.has(other), 'it names a pack that no earlier line defines.', at);
  requireThat(!archive.packs.has(id), 'an earlier line defines a pack with this id.', at);
  archive.packs.add(id);
}

const packFlag = recorded({
  schema: line('flag', {
    pack: packIdSchema,
    reason: newFlagSchema.shape.reason,
    note: newFlagSchema.shape.note.unwrap(),
    at: instantSchema,
    ledger_entry: number,
  }),
  rows: 'pack_flags',
  types: ['pack.flagged'],
  digest: flagDigest,
  check: ({ packs }, { pack: id, reason, note }, at) => {
    requireThat(packs.has(id), 'no earlier line defines its pack.', at);
    requireThat(newFlagSchema.safeParse({ reason, note }).success, 'its note is empty.', at);
  },
  restore: (database, value) =>
    insertFlagRows(database, packById(database, value.pack)?.ledger_entry ?? 0, value),
});

const packDeposit = recorded({
  schema: line('pack_deposit', { ledger_entry: number, ...recordedDepositSchema.shape }),
  rows: 'pack_deposits',
  types: ['pack.deposited'],
  digest: depositDigest,
  check: ({ packs }, { pack: id }, at) => requireThat(packs.has(id), 'no earlier line defines its pack.', at),
});

const comment = recorded({
  schema: line('comment', {
    id: commentIdSchema,
    item: itemIdSchema,
    author: newCommentSchema.shape.author,
    body: newCommentSchema.shape.body,
    reply_to: newCommentSchema.shape.reply_to.unwrap(),
    at: instantSchema,
    ledger_entry: number,
  }),
  rows: 'comments',
  types: ['comment.added'],
  digest: commentDigest,
  check: ({ packs, studies, comments }, { id, item, reply_to }, at) => {
    requireThat(packs.has(item) || studies.has(item), 'no earlier line defines its item.', at);
    requireThat(
      reply_to === null || comments.get(reply_to) === item,
      'no earlier line defines the comment that it replies to.',
      at,
    );
    requireThat(!comments.has(id), 'an earlier line defines a comment with this id.', at);
    comments.set(id, item);
  },
});

/** The ledger, and the archive of data packs. */
export const ARCHIVE_KINDS: Readonly<Record<string, DumpKind>> = {
  entry,
  node,
  study,
  study_status: studyStatus,
  pack,
  flag: packFlag,
  pack_deposit: packDeposit,
  comment,
};

/** Longer than any that a node writes. */
const MAX_ENCRYPTED_CHARACTERS = 1_000_000;

/** The entry has the commitment, so the line only has the record as the owner can read it. */
const sealedFinding = recorded({
  schema: line('sealed_finding', {
    encrypted: z.base64().max(MAX_ENCRYPTED_CHARACTERS),
    ledger_entry: number,
  }),
  rows: 'sealed_findings',
  types: ['finding.sealed'],
  digest: ({ ledger_entry }, { ledger }) => ledger.digestOf(ledger_entry),
  restore: (database, { ledger_entry, encrypted }) =>
    insertSealed(database, {
      ledger_entry,
      id: entryAt(database, ledger_entry)?.subject ?? '',
      encrypted,
    }),
});

const FINDING_EXPRESSIONS = { target: "json_object('kind', target_kind, 'id', target_id)" };
const revealedSchema = line('revealed_finding', {
  ...recordedFindingSchema.shape,
  salt: saltSchema,
  sealed_entry: number,
  ledger_entry: number,
});

const revealedFinding = recorded({
  schema: revealedSchema,
  rows: {
    from: 'findings f JOIN revealed_findings r ON r.ledger_entry = f.ledger_entry',
    order: 'f.ledger_entry',
    expressions: { ...FINDING_EXPRESSIONS, ledger_entry: 'f.ledger_entry' },
    json: ['tags', 'passage'],
  },
  types: ['finding.revealed'],
  digest: findingDigest,
  check: checkRevealed,
  restore: insertRevealed,
});

function checkRevealed(archive: DumpedArchive, value: z.output<typeof revealedSchema>, at: number): void {
  const { id, target, supersedes, withdrawal, salt, sealed_entry } = value;
  requireThat(
    archive.ledger.typeOf(sealed_entry) === 'finding.sealed' && !archive.revealed.has(sealed_entry),
    'it reveals no sealed finding.',
    at,
  );
  requireThat(
    commitmentTo(salt, canonicalText(recordOfFinding(value))) === archive.ledger.digestOf(sealed_entry),
    `it is not what entry ${sealed_entry} sealed.`,
    at,
  );
  requireThat(supersedes === null && withdrawal === null, 'it supersedes another finding.', at);
  requireThat(target.kind === 'object' || holds(archive, target), 'no earlier line defines its target.', at);
  requireThat(!archive.findings.has(id), 'an earlier line defines a finding with this id.', at);
  archive.revealed.add(sealed_entry);
  archive.findings.set(id, `${target.kind} ${target.id}`);
}

const findingSchema = line('finding', { ...recordedFindingSchema.shape, ledger_entry: number });

const finding = recorded({
  schema: findingSchema,
  rows: {
    from: 'findings',
    where: 'NOT EXISTS (SELECT 1 FROM revealed_findings r WHERE r.ledger_entry = findings.ledger_entry)',
    expressions: FINDING_EXPRESSIONS,
    json: ['tags', 'passage'],
  },
  types: ['finding.added', 'finding.withdrawn'],
  digest: ({ kind: _kind, ledger_entry: _entry, ...value }) => findingDigest(value),
  check: checkFinding,
  restore: (database, value) =>
    insertFinding(database, value, targetText(database, value.target) ?? value.target.id),
});

/** An object is named by its digest. Whether the archive has its bytes is not part of a dump. */
function checkFinding(
  archive: DumpedArchive,
  { id, target, supersedes, withdrawal, ledger_entry }: z.output<typeof findingSchema>,
  at: number,
): void {
  const type = withdrawal === null ? 'finding.added' : 'finding.withdrawn';
  requireThat(archive.ledger.typeOf(ledger_entry) === type, 'its kind is not that of its entry.', at);
  requireThat(target.kind === 'object' || holds(archive, target), 'no earlier line defines its target.', at);
  requireThat(!archive.findings.has(id), 'an earlier line defines a finding with this id.', at);
  const name = `${target.kind} ${target.id}`;
  requireThat(
    supersedes === null ? withdrawal === null : archive.findings.get(supersedes) === name,
    'it supersedes no current finding about its target.',
    at,
  );
  if (supersedes !== null) archive.findings.set(supersedes, undefined);
  archive.findings.set(id, withdrawal === null ? name : undefined);
}

/** No entry covers a case: it is the owner's list of what the ledger covers. */
const ownCase = kind({
  schema: line('case', { key: number, ...storedCaseSchema.shape }),
  rows: { from: 'cases', order: 'key', json: ['items'] },
  order: ({ key }) => key,
  check: (archive, { id, items }, at) => {
    requireThat(!archive.cases.has(id), 'an earlier line defines a case with this id.', at);
    for (const item of items)
      requireThat(holds(archive, item), 'no earlier line defines one of its items.', at);
    archive.cases.add(id);
  },
});

function holds(archive: DumpedArchive, { kind: of, id }: { kind: string; id: string }): boolean {
  if (of === 'event') return Number(id) <= archive.events.size;
  return of === 'pack' ? archive.packs.has(id) : archive.findings.has(id);
}

export const FINDING_KINDS: Readonly<Record<string, DumpKind>> = {
  sealed_finding: sealedFinding,
  revealed_finding: revealedFinding,
  finding,
  case: ownCase,
};
