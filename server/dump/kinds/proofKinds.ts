import { z } from 'zod';
import { damageProblemSchema } from '../../../shared/ledger/fixity.ts';
import { keyRenewalSchema, rollbackSchema } from '../../../shared/ledger/ledger.ts';
import { recordedObservationSchema } from '../../../shared/node/observation.ts';
import { packProvenanceSchema, peerRewriteSchema } from '../../../shared/node/peer.ts';
import {
  recordedWithholdingSchema,
  releasedReasonSchema,
  releaseSchema,
  shownSchema,
} from '../../../shared/node/withheld.ts';
import { UnknownAlgorithmError } from '../../../shared/proof/crypto/algorithms.ts';
import { noteBody } from '../../../shared/proof/ledger/signedNote.ts';
import { TimestampError, verifyTimestamp } from '../../../shared/proof/ledger/timestamp.ts';
import { digestSchema } from '../../../shared/values/digest.ts';
import { instantSchema } from '../../../shared/values/text.ts';
import { damageDigest, restorationDigest } from '../../fixity/damages.ts';
import { nodeCrypto } from '../../ledger/checkpoint.ts';
import { fingerprintOf } from '../../ledger/entry.ts';
import { isSignedRenewal, keyNameOf } from '../../ledger/nodeKey.ts';
import { isProvenObservation, provesRewrite, whyNotSeenBy } from '../../ledger/peerEvidence.ts';
import { isProvenBy } from '../../ledger/prove.ts';
import { findCosignature, parseCosignerKey } from '../../ledger/witness/cosignature.ts';
import { parseCheckpointRequest } from '../../ledger/witness/witnessing.ts';
import { insertJoinedFile } from '../../store/sqlite/archive/sets.ts';
import { insertTimestamp } from '../../store/sqlite/node/ledger.ts';
import {
  insertRelease,
  insertShowingRecord,
  insertWithholdingRecord,
} from '../../store/sqlite/node/withheld.ts';
import { releaseDigest, showingDigest, withholdingDigest } from '../../withholding/withholding.ts';
import {
  count,
  type DumpedArchive,
  type DumpKind,
  httpUrl,
  kind,
  line,
  number,
  recorded,
  requireThat,
} from '../dumpedArchive.ts';
import { openCheckpointIn } from '../dumpFile.ts';

const hex = z.string().regex(/^([0-9a-f]{2})+$/, 'This is not in hexadecimal digits.');
const short = z.string().min(1).max(1_000);
const checkpointNote = z.string().max(65_536);

const timestampSchema = line('timestamp', {
  id: z.string().regex(/^ts_[0-9a-f]{20}$/, 'This is not the id of a timestamp.'),
  authority: httpUrl,
  at: instantSchema,
  received_at: instantSchema,
  size: count,
  root: digestSchema,
  serial: short,
  text: checkpointNote,
  reply: hex.max(2_097_152),
});

const timestamp = kind({
  schema: timestampSchema,
  rows: { from: 'timestamps', order: 'id', expressions: { reply: 'lower(hex(reply))' } },
  order: ({ id }) => id,
  check: checkTimestamp,
  restore: (database, value) =>
    insertTimestamp(database, { ...value, reply: Buffer.from(value.reply, 'hex') }),
});

function checkTimestamp(
  { ledger }: DumpedArchive,
  { size, root, text, reply, at, serial }: z.output<typeof timestampSchema>,
  number: number,
): void {
  const origin = text.slice(0, text.indexOf('\n'));
  requireThat(
    text.startsWith(bodyStart({ origin, size, root })),
    'its text has another size or root.',
    number,
  );
  ledger.expectRoot(size, root, number);
  try {
    const verified = verifyTimestamp(Buffer.from(reply, 'hex'), Buffer.from(text), nodeCrypto);
    const isSame = verified.at === Date.parse(at) && verified.serial === serial;
    requireThat(isSame, 'its time or its number is not that of the reply.', number);
  } catch (error) {
    if (!(error instanceof TimestampError) && !(error instanceof UnknownAlgorithmError)) throw error;
    requireThat(false, `the timestamp is not valid: ${error.message}`, number);
  }
}

const cosignature = kind({
  schema: line('cosignature', {
    witness: short,
    origin: short,
    size: count,
    root: digestSchema,
    line: short,
    at: instantSchema,
    received_at: instantSchema,
  }),
  rows: { from: 'cosignatures', order: 'witness, size' },
  order: ({ witness, size }) => `${Buffer.from(witness).toString('hex')} ${String(size).padStart(16, '0')}`,
  check: ({ ledger }, value, at) => {
    const { witness, size, root, line: signature } = value;
    ledger.expectRoot(size, root, at);
    const key = parseCosignerKey(witness);
    const found = key && findCosignature(signature, bodyStart(value), key);
    requireThat(found?.line === signature, 'the line of the witness is not valid.', at);
    requireThat(found.at === Date.parse(value.at), 'its time is not that of the line.', at);
  },
});

/** The lines with which a checkpoint begins. `root` is in hex. */
function bodyStart({ origin, size, root }: { origin: string; size: number; root: string }): string {
  return `${origin}\n${size}\n${Buffer.from(root, 'hex').toString('base64')}\n`;
}

/**
 * What authorities and witnesses say of this ledger. These lines precede the entries, so that the root of the ledger at
 * each of their sizes is compared while the entries are read.
 */
export const OWN_PROOF_KINDS: Readonly<Record<string, DumpKind>> = { timestamp, cosignature };

const objectDamage = recorded({
  schema: line('object_damage', {
    ledger_entry: number,
    sha256: digestSchema,
    bytes: count,
    problem: damageProblemSchema,
    found: digestSchema.nullable(),
    at: instantSchema,
  }),
  rows: 'object_damages',
  types: ['object.damaged'],
  digest: damageDigest,
  check: ({ damages }, { ledger_entry, sha256 }) => damages.set(ledger_entry, sha256),
});

const objectRestoration = recorded({
  schema: line('object_restoration', {
    ledger_entry: number,
    damage: number,
    sha256: digestSchema,
    at: instantSchema,
  }),
  rows: 'object_restorations',
  types: ['object.restored'],
  digest: restorationDigest,
  check: ({ damages }, { damage, sha256 }, at) => {
    requireThat(damages.get(damage) === sha256, 'no earlier line defines the damage that it ends.', at);
    damages.delete(damage);
  },
});

export const FIXITY_KINDS: Readonly<Record<string, DumpKind>> = {
  object_damage: objectDamage,
  object_restoration: objectRestoration,
};

const objectWithheld = recorded({
  schema: line('object_withheld', { ledger_entry: number, ...recordedWithholdingSchema.shape }),
  rows: 'withholdings',
  types: ['object.withheld'],
  digest: withholdingDigest,
  check: ({ withheld, retrievals, packs, pages }, { ledger_entry, retrieval, pack, page }, at) => {
    requireThat(
      (retrieval === null || retrievals.get(retrieval) !== undefined) &&
        (pack === null || packs.has(pack)) &&
        (page === null || pages.has(page)),
      'no earlier line defines what it withholds.',
      at,
    );
    withheld.add(ledger_entry);
  },
  restore: (database, { kind: _kind, ...row }) => insertWithholdingRecord(database, row),
});

const objectShown = recorded({
  schema: line('object_shown', { ...shownSchema.shape }),
  rows: 'showings',
  types: ['object.shown'],
  digest: showingDigest,
  check: ({ withheld }, { withheld: entry }, at) =>
    requireThat(withheld.delete(entry), 'no earlier line defines the withholding that it ends.', at),
  restore: (database, { kind: _kind, ...row }) => insertShowingRecord(database, row),
});

const objectReleased = recorded({
  schema: line('object_released', { ...releaseSchema.shape }),
  rows: 'releases',
  types: ['object.released'],
  digest: releaseDigest,
  check: ({ released }, { sha256 }, at) => {
    requireThat(!released.has(sha256), 'an earlier line releases the same bytes.', at);
    released.add(sha256);
  },
  restore: (database, { kind: _kind, ...row }) => insertRelease(database, row),
});

/** No entry of this ledger covers it: it says whose bytes a peer did not give, and they are not here. */
const objectAbsent = kind({
  schema: line('object_absent', {
    sha256: digestSchema,
    peer: z.string().min(1),
    state: z.enum(['withheld', 'released']),
    reason: releasedReasonSchema,
    since: instantSchema,
  }),
  rows: { from: 'absent_objects', order: 'sha256, peer' },
  order: ({ sha256, peer }) => `${sha256} ${Buffer.from(peer).toString('hex')}`,
});

/**
 * No entry of this ledger covers it: of which parts a file consists, which are withheld together unless `ties` says otherwise.
 * The list of the set may not be here, and a set that was never published has none.
 */
const joinedFile = kind({
  schema: line('joined_file', {
    sha256: digestSchema,
    part: digestSchema,
    ties: z.enum(['claimed', 'part', 'none']).optional(),
  }),
  rows: {
    from: 'joined_files',
    order: 'sha256, part',
    // A patch leaves out what is null.
    line: `json_patch(json_object('kind', 'joined_file', 'sha256', sha256, 'part', part),
      json_object('ties', nullif(ties, 'both')))`,
  },
  restore: (database, { sha256, part, ties = 'both' }) => insertJoinedFile(database, { sha256, part, ties }),
  order: ({ sha256, part }) => `${sha256} ${part}`,
});

/**
 * What visitors may not read, and what was given up. After everything that can be withheld. Only the records are restored
 * here: `replayWithholdings` does what they say, in the order of the ledger.
 */
export const WITHHOLDING_KINDS: Readonly<Record<string, DumpKind>> = {
  object_withheld: objectWithheld,
  object_shown: objectShown,
  object_released: objectReleased,
  object_absent: objectAbsent,
  joined_file: joinedFile,
};

const keyChange = recorded({
  schema: z.discriminatedUnion('type', [
    line('key_change', { ledger_entry: number, type: z.literal('key.renewed'), record: keyRenewalSchema }),
    line('key_change', {
      ledger_entry: number,
      type: z.literal('ledger.rolled_back'),
      record: rollbackSchema,
    }),
  ]),
  rows: { from: 'key_changes', members: ['ledger_entry', 'type', 'record'], json: ['record'] },
  types: ['key.renewed', 'ledger.rolled_back'],
  digest: ({ record }) => fingerprintOf(record),
  check: ({ ledger }, { ledger_entry, type, record }, at) => {
    requireThat(ledger.typeOf(ledger_entry) === type, 'its type is not that of its entry.', at);
    // Without a signature it says itself that the old key was lost.
    const isSigned =
      !('signature' in record) ||
      record.signature === null ||
      isSignedRenewal(record.old_key, record.new_key, record.signature);
    requireThat(isSigned, 'the old key has not signed the new one.', at);
  },
});

const peerRewrite = recorded({
  schema: line('peer_rewrite', { ledger_entry: number, record: peerRewriteSchema }),
  rows: { from: 'peer_rewrites', json: ['record'] },
  types: ['peer.rewritten'],
  digest: ({ record }) => fingerprintOf(record),
  check: (_archive, { record: { key, kept, seen_key, seen, proof } }, at) => {
    const [known, newer] = [openCheckpointIn(kept, key, at), openCheckpointIn(seen, seen_key, at)];
    requireThat(provesRewrite(known, newer, proof), 'its checkpoints do not contradict each other.', at);
  },
});

/** No entry of this ledger covers it: it proves itself, by the peer's signature. */
const packProvenance = kind({
  schema: line('pack_provenance', { ledger_entry: number, record: packProvenanceSchema }),
  rows: { from: 'pack_provenance', json: ['record'] },
  order: ({ ledger_entry }) => ledger_entry,
  check: ({ ledger }, { ledger_entry, record }, at) => {
    const type = ledger.typeOf(ledger_entry);
    requireThat(
      type === 'pack.added' || type === 'pack.deposited',
      'its entry is not that of a pack or a deposit.',
      at,
    );
    requireThat(
      isProvenBy(record, ledger.digestOf(ledger_entry), type),
      `it does not prove that the peer has this ${type === 'pack.added' ? 'pack' : 'deposit'}.`,
      at,
    );
  },
});

/** What two nodes signed of an address that both fetched. */
const signedObservation = recorded({
  schema: line('signed_observation', { ledger_entry: number, record: recordedObservationSchema }),
  rows: { from: 'signed_observations', json: ['record'] },
  types: ['observation.signed'],
  digest: ({ record }) => fingerprintOf(record),
  check: (archive, { record }, at) => {
    const { event: id, role, agreement, salt } = record;
    const isAnswer = role === 'answered';
    requireThat(
      [id, agreement, salt].every((value) => (value === null) === isAnswer) && isProvenObservation(record),
      'it does not prove that both nodes signed this.',
      at,
    );
    if (id === null) return;
    const event = archive.events.get(id);
    requireThat(event !== undefined, 'no earlier line defines its event.', at);
    const { source_key, sha256, observed_at } = event;
    const { url } = archive.source(source_key, at);
    const why = whyNotSeenBy(record, { id, url, sha256, observed_at }, archive.key);
    requireThat(why === undefined, `it says what the peer has not signed: ${why}`, at);
  },
});

/** The changes of this node's key, and what it has from its peers. */
export const PEER_KINDS: Readonly<Record<string, DumpKind>> = {
  key_change: keyChange,
  peer_rewrite: peerRewrite,
  pack_provenance: packProvenance,
  signed_observation: signedObservation,
};

const witnessedLog = kind({
  schema: line('witnessed_log', {
    origin: short,
    key: short,
    added_at: instantSchema,
    removed_at: instantSchema.nullable(),
    size: count,
    root: digestSchema.nullable(),
    note: checkpointNote.nullable(),
    cosigned_at: instantSchema.nullable(),
  }),
  rows: { from: 'witnessed_logs', order: 'origin' },
  order: ({ origin }) => Buffer.from(origin).toString('hex'),
  check: ({ witnessed }, { origin, key, size, root, note }, at) => {
    requireThat(keyNameOf(key) === origin, 'its key is that of another log.', at);
    witnessed.set(origin, key);
    if (note === null) return requireThat(size === 0 && root === null, 'its checkpoint is missing.', at);
    requireThat(
      root !== null && noteBody(note).startsWith(bodyStart({ origin, size, root })),
      'its checkpoint has another log, size or root.',
      at,
    );
    openCheckpointIn(note, key, at);
  },
});

const witnessRefusal = kind({
  schema: line('witness_refusal', {
    id: number,
    origin: short,
    at: instantSchema,
    known_size: count,
    known_note: checkpointNote.nullable(),
    size: count,
    body: checkpointNote,
    request: checkpointNote,
  }),
  rows: { from: 'witness_refusals', order: 'id' },
  order: ({ id }) => id,
  check: ({ witnessed }, { origin, known_size, known_note, size, body, request }, at) => {
    const refused = parseCheckpointRequest(request);
    requireThat(
      refused.origin === origin && noteBody(refused.note) === body && body.split('\n')[1] === String(size),
      'its request has another checkpoint.',
      at,
    );
    const key = witnessed.get(origin);
    requireThat(key !== undefined, 'no earlier line defines its log.', at);
    const { root } = openCheckpointIn(refused.note, key, at);
    const known = known_note === null ? undefined : openCheckpointIn(known_note, key, at);
    requireThat(
      known_size === (known?.size ?? 0) && !(known?.size === size && known.root.equals(root)),
      'it does not contradict the checkpoint that was known.',
      at,
    );
  },
});

/** What this node cosigned as a witness, and what it refused to. The signatures in it are by the keys of those logs. */
export const WITNESS_KINDS: Readonly<Record<string, DumpKind>> = {
  witnessed_log: witnessedLog,
  witness_refusal: witnessRefusal,
};
