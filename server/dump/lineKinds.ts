import type { z } from 'zod';
import { newFlagSchema } from '../../shared/archive/pack.ts';
import { STUDY_TRANSITIONS } from '../../shared/archive/study.ts';
import { SELF } from '../../shared/collection/event.ts';
import { DUMP_FORMAT, FORMAT_WITHOUT_BATCHES } from '../../shared/ledger/dump.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { checkRecord } from '../archive/packs/record.ts';
import {
  commentDigest,
  flagDigest,
  nodeDigest,
  statusDigest,
  studyDigest,
} from '../archive/recordedSubjects.ts';
import { batchDigest } from '../collection/record/coverRetrievals.ts';
import { eventDigest } from '../collection/record/recordEvent.ts';
import { retrievalLeaf } from '../collection/record/retrievalLeaf.ts';
import { damageDigest, restorationDigest } from '../fixity/damages.ts';
import { fingerprintOf } from '../ledger/entry.ts';
import { isProvenBy } from '../ledger/provenance.ts';
import { type DumpedArchive, requireThat } from './dumpedArchive.ts';
import { addRetrieval, checkSourceLine } from './dumpedSources.ts';
import { FINDING_KINDS } from './findingKinds.ts';
import { kind, type LineKind, recorded } from './lineKind.ts';
import * as lines from './lineSchemas.ts';
import { OWN_PROOF_KINDS, WITNESS_KINDS } from './proofKinds.ts';
import * as sourceLines from './sourceLineSchemas.ts';

const ARCHIVE_KINDS: Record<string, LineKind> = {
  entry: kind(
    lines.entryLine,
    ({ seq }) => seq,
    (archive, entry, line) => archive.ledger.add(entry, line),
  ),
  node: recorded(lines.nodeLine, ['node.created'], nodeDigest, (archive, { path }, line) => {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    requireThat(
      parent === '' || archive.nodes.has(parent),
      'no earlier line defines the subject above it.',
      line,
    );
    requireThat(!archive.nodes.has(path), 'an earlier line defines a node at this path.', line);
    archive.nodes.add(path);
  }),
  study: recorded(lines.studyLine, ['study.created'], studyDigest, (archive, { id, node, status }, line) => {
    requireThat(node === null || archive.nodes.has(node), 'no earlier line defines its node.', line);
    requireThat(!archive.studies.has(id), 'an earlier line defines a study with this id.', line);
    archive.studies.set(id, status);
  }),
  study_status: recorded(lines.statusLine, ['study.status'], statusDigest, (archive, step, line) => {
    const before = archive.studies.get(step.study);
    requireThat(before !== undefined, 'no earlier line defines its study.', line);
    requireThat(
      STUDY_TRANSITIONS[before].includes(step.status),
      'a study cannot change to this status.',
      line,
    );
    archive.studies.set(step.study, step.status);
  }),
  pack: recorded(lines.packLine, ['pack.added'], ({ record }) => fingerprintOf(record), checkPack),
  flag: recorded(lines.flagLine, ['pack.flagged'], flagDigest, (archive, { pack, reason, note }, line) => {
    requireThat(archive.packs.has(pack), 'no earlier line defines its pack.', line);
    requireThat(newFlagSchema.safeParse({ reason, note }).success, 'its note is empty.', line);
  }),
  comment: recorded(lines.commentLine, ['comment.added'], commentDigest, (archive, comment, line) => {
    const { id, item, reply_to } = comment;
    requireThat(
      archive.packs.has(item) || archive.studies.has(item),
      'no earlier line defines its item.',
      line,
    );
    requireThat(
      reply_to === null || archive.comments.get(reply_to) === item,
      'no earlier line defines the comment that it replies to.',
      line,
    );
    requireThat(!archive.comments.has(id), 'an earlier line defines a comment with this id.', line);
    archive.comments.set(id, item);
  }),
};

function checkPack(
  archive: DumpedArchive,
  { id, digest, received_at, ledger_entry, record }: z.output<typeof lines.packLine>,
  line: number,
): void {
  const checked = checkRecord(record);
  requireThat(checked.text === canonicalText(record), 'its record omits fields.', line);
  requireThat(
    checked.digest === digest && checked.id === id,
    'its id or digest is not that of its record.',
    line,
  );
  requireThat(
    Date.parse(received_at) === archive.ledger.timeOf(ledger_entry),
    'its received_at is not the time of its entry.',
    line,
  );
  const { node, study, replicates, supersedes } = checked.record;
  requireThat(node === null || archive.nodes.has(node), 'no earlier line defines its node.', line);
  requireThat(study === null || archive.studies.has(study), 'no earlier line defines its study.', line);
  for (const other of [replicates?.pack, supersedes])
    requireThat(!other || archive.packs.has(other), 'it names a pack that no earlier line defines.', line);
  requireThat(!archive.packs.has(id), 'an earlier line defines a pack with this id.', line);
  archive.packs.add(id);
}

const SOURCE_KINDS: Record<string, LineKind> = {
  source: kind(sourceLines.sourceLine, ({ key }) => key, checkSourceLine),
  source_revision: recorded(
    sourceLines.revisionLine,
    ['source.added', 'source.changed'],
    ({ record }) => fingerprintOf(record),
    (archive, { ledger_entry, source_key, record }, line) => {
      const source = archive.source(source_key, line);
      requireThat(
        record.id === source.id && record.url === source.url,
        'it belongs to another source.',
        line,
      );
      source.found.revision = ledger_entry;
    },
  ),
  round: kind(
    sourceLines.roundLine,
    ({ id }) => id,
    (archive, { id }) => archive.rounds.add(id),
  ),
};

const RETRIEVAL_KINDS: Record<string, LineKind> = {
  retrieval_batch: recorded(
    sourceLines.batchLine,
    ['retrievals.recorded'],
    batchDigest,
    (archive, batch, line) => archive.batches.add(batch, line),
  ),
  retrieval: kind(
    sourceLines.retrievalLine,
    ({ id }) => id,
    (archive, { kind: _kind, leaf, ...retrieval }, line) => {
      const found = retrievalLeaf(retrieval);
      requireThat(
        found.toString('hex') === leaf,
        `retrieval ${retrieval.id} was altered: it differs from what the ledger covers.`,
        line,
      );
      archive.batches.addRetrieval(retrieval.id, found, line);
      addRetrieval(archive, archive.source(archive.sourceKeys.get(retrieval.source), line), retrieval, line);
    },
  ),
};

/** Retrievals of dumps from before the ledger covered them. Only their consistency can be checked. */
const OLD_RETRIEVAL_KINDS: Record<string, LineKind> = {
  retrieval: kind(
    sourceLines.oldRetrievalLine,
    ({ id }) => id,
    (archive, retrieval, line) =>
      addRetrieval(archive, archive.source(retrieval.source_key, line), retrieval, line),
  ),
  capture: kind(
    sourceLines.captureLine,
    ({ retrieval }) => retrieval,
    (archive, { retrieval }, line) =>
      requireThat(
        archive.retrievals.get(retrieval) !== undefined,
        'no earlier line defines its retrieval.',
        line,
      ),
  ),
};

const EVENT_KINDS: Record<string, LineKind> = {
  event: recorded(
    sourceLines.eventLine,
    ['event.recorded'],
    (event, archive, line) => {
      const { id, url } = archive.source(event.source_key, line);
      return eventDigest({ ...event, source: id, url });
    },
    (archive, { id, retrieval, source_key, reverts_to, observer, event_type }, line) => {
      requireThat(id === archive.events + 1, `event ${archive.events + 1} is missing before it.`, line);
      requireThat(
        archive.retrievals.get(retrieval) === source_key,
        'no earlier line defines its retrieval, or the retrieval belongs to another source.',
        line,
      );
      requireThat(
        reverts_to === null || reverts_to < id,
        'it reverts to an event that no earlier line defines.',
        line,
      );
      archive.events = id;
      if (observer === SELF) archive.source(source_key, line).found.last_event_type = event_type;
    },
  ),
  event_noise: kind(
    sourceLines.noiseLine,
    ({ event }) => event,
    (archive, { event }, line) =>
      requireThat(event <= archive.events, 'no earlier line defines its event.', line),
  ),
};

const FIXITY_KINDS: Record<string, LineKind> = {
  object_damage: recorded(
    lines.damageLine,
    ['object.damaged'],
    damageDigest,
    (archive, { ledger_entry, sha256 }) => archive.damages.set(ledger_entry, sha256),
  ),
  object_restoration: recorded(
    lines.restorationLine,
    ['object.restored'],
    restorationDigest,
    (archive, { damage, sha256 }, line) => {
      requireThat(
        archive.damages.get(damage) === sha256,
        'no earlier line defines the damage that it ends.',
        line,
      );
      archive.damages.delete(damage);
    },
  ),
};

const KEY_KINDS: Record<string, LineKind> = {
  key_change: recorded(
    lines.keyChangeLine,
    ['key.renewed', 'ledger.rolled_back'],
    ({ record }) => fingerprintOf(record),
    (archive, { ledger_entry, type }, line) =>
      requireThat(archive.ledger.typeOf(ledger_entry) === type, 'its type is not that of its entry.', line),
  ),
};

const PEER_KINDS: Record<string, LineKind> = {
  peer_rewrite: recorded(lines.peerRewriteLine, ['peer.rewritten'], ({ record }) => fingerprintOf(record)),
  // No entry of this ledger covers it: it proves itself, by the peer's signature.
  pack_provenance: kind(
    lines.provenanceLine,
    ({ ledger_entry }) => ledger_entry,
    ({ ledger }, { ledger_entry, record }, line) => {
      requireThat(ledger.typeOf(ledger_entry) === 'pack.added', 'its entry is not that of a pack.', line);
      requireThat(
        isProvenBy(record, ledger.digestOf(ledger_entry)),
        'it does not prove that the peer has this pack.',
        line,
      );
    },
  ),
};

/** The kinds of lines between header and trailer, in their order, by the dump's format. */
export const LINE_KINDS: Readonly<Record<number, Record<string, LineKind>>> = {
  [FORMAT_WITHOUT_BATCHES]: {
    ...ARCHIVE_KINDS,
    ...SOURCE_KINDS,
    ...OLD_RETRIEVAL_KINDS,
    ...EVENT_KINDS,
    ...FIXITY_KINDS,
  },
  [DUMP_FORMAT]: {
    ...OWN_PROOF_KINDS,
    ...ARCHIVE_KINDS,
    ...SOURCE_KINDS,
    ...RETRIEVAL_KINDS,
    ...EVENT_KINDS,
    ...FIXITY_KINDS,
    ...KEY_KINDS,
    ...PEER_KINDS,
    ...FINDING_KINDS,
    ...WITNESS_KINDS,
  },
};
