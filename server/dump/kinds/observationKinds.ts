import { z } from 'zod';
import { eventTypeSchema, pageLabelSchema } from '../../../shared/collection/event.ts';
import { recordedHandInSchema } from '../../../shared/collection/handedIn.ts';
import { SELF } from '../../../shared/collection/observers.ts';
import { recordedPageSchema } from '../../../shared/collection/page.ts';
import {
  captureIdentitySchema,
  recordedRetrievalSchema,
  redirectSchema,
  retrievalErrorSchema,
} from '../../../shared/collection/retrieval.ts';
import { digestSchema, pageIdSchema, sourceIdSchema } from '../../../shared/values/digest.ts';
import { instantSchema } from '../../../shared/values/text.ts';
import { batchDigest, retrievalLeaf } from '../../collection/record/coverRetrievals.ts';
import { eventDigest } from '../../collection/record/recordRetrieval.ts';
import { fingerprintOf } from '../../ledger/entry.ts';
import { insertCapture } from '../../store/sqlite/collection/captures.ts';
import { insertHandIn } from '../../store/sqlite/collection/handIns.ts';
import { insertPage } from '../../store/sqlite/collection/pages.ts';
import { insertLeaf } from '../../store/sqlite/collection/retrievalBatches.ts';
import { nameCertificates, nameRequestBody } from '../../store/sqlite/collection/retrievals.ts';
import { sourceKeyOf } from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../store/sqlite/node/blobs.ts';
import { type DumpedRows, restoreRow } from '../../store/sqlite/node/dumpedRows.ts';
import {
  count,
  type DumpedArchive,
  type DumpedSource,
  type DumpKind,
  flag,
  httpUrl,
  kind,
  line,
  number,
  recorded,
  requireThat,
} from '../dumpedArchive.ts';
import { observer, rulesDigestSchema, status } from './sourceKinds.ts';

const retrievalBatch = recorded({
  schema: line('retrieval_batch', { ledger_entry: number, first: number, last: number, root: digestSchema }),
  rows: 'retrieval_batches',
  types: ['retrievals.recorded'],
  digest: batchDigest,
  check: (archive, batch, at) => archive.batches.add(batch, at),
});

const payloadDigest = z.string().regex(/^[a-z0-9]{1,20}:[0-9a-f]{1,256}$/, 'This is not a digest.');
const capture = captureIdentitySchema.extend({ payload_digest: payloadDigest.nullable() });

const retrieved = {
  id: number,
  round: number.nullable(),
  // That of its source, unless it is a part of a page.
  url: httpUrl,
  final_url: httpUrl,
  redirects: z.array(redirectSchema.extend({ url: httpUrl, status })),
  observer,
  observed_at: instantSchema,
  original_observed_at: instantSchema.nullable(),
  status: status.nullable(),
  error: retrievalErrorSchema.nullable(),
  content_type: z.string().nullable(),
  headers: recordedRetrievalSchema.shape.headers,
  request: recordedRetrievalSchema.shape.request,
  sha256: digestSchema.nullable(),
  bytes: count.nullable(),
  duration_ms: z.int(),
  page_label: pageLabelSchema.nullable(),
};

/** The columns of a retrieval, as restored. */
const RETRIEVAL_ROW: DumpedRows = {
  from: 'retrievals',
  order: 'id',
  members: [
    'id',
    'source_key',
    ...Object.keys(retrieved).filter((name) => name !== 'id'),
    'part_of',
    'connection',
  ],
  json: ['redirects', 'headers', 'request', 'page_label', 'connection'],
};

/** A retrieval with everything that the ledger covers, and the hash of the leaf. */
const RETRIEVAL_LINE = `json_object('kind', 'retrieval', 'id', r.id, 'source', s.id, 'round', r.round, 'url', r.url,
    'final_url', r.final_url, 'redirects', json(r.redirects), 'observer', r.observer, 'observed_at', r.observed_at,
    'original_observed_at', r.original_observed_at, 'status', r.status, 'error', r.error, 'content_type', r.content_type,
    'headers', json(r.headers), 'request', json(r.request), 'sha256', r.sha256, 'bytes', r.bytes, 'duration_ms',
    r.duration_ms, 'page_label', json(r.page_label), 'capture', json(iif(c.retrieval IS NULL, NULL,
      json_object('record_id', c.record_id, 'payload_digest', c.payload_digest))), 'leaf', lower(hex(l.leaf)))`;

const retrieval = kind({
  schema: line('retrieval', {
    ...retrieved,
    source: sourceIdSchema,
    capture: capture.nullable(),
    part_of: recordedRetrievalSchema.shape.part_of,
    connection: recordedRetrievalSchema.shape.connection,
    leaf: digestSchema,
  }),
  rows: {
    from: `retrievals r LEFT JOIN sources s ON s.key = r.source_key LEFT JOIN captures c ON c.retrieval = r.id
      LEFT JOIN retrieval_leaves l ON l.retrieval = r.id`,
    order: 'r.id',
    // What a retrieval does not have is left out, as in its leaf. The last member before is a digest.
    line: `rtrim(${RETRIEVAL_LINE}, '}')
      || iif(r.part_of IS NULL, '', ',"part_of":' || json_quote(r.part_of))
      || iif(r.connection IS NULL, '', ',"connection":' || json(r.connection)) || '}'`,
  },
  order: ({ id }) => id,
  check: (archive, { kind: _kind, leaf, ...value }, at) => {
    const found = retrievalLeaf(value);
    requireThat(
      found.toString('hex') === leaf,
      `retrieval ${value.id} was altered: it differs from what the ledger covers.`,
      at,
    );
    archive.batches.addRetrieval(value.id, found, at);
    addRetrieval(archive, archive.source(archive.sourceKeys.get(value.source), at), value, at);
  },
  restore: (database, value) => {
    nameBlob(database, value);
    nameCertificates(database, value);
    nameRequestBody(database, value);
    restoreRow(database, RETRIEVAL_ROW, { ...value, source_key: sourceKeyOf(database, value.source) });
    insertLeaf(database, value.id, Buffer.from(value.leaf, 'hex'));
    if (value.capture) insertCapture(database, { retrieval: value.id, ...value.capture });
  },
});

function nameBlob(
  database: WriteDatabase,
  { sha256, bytes, observed_at }: { sha256: string | null; bytes: number | null; observed_at: string },
): void {
  if (sha256 === null || bytes === null) return;
  createBlobRowIfAbsent(database, { sha256, bytes, stored_at: observed_at });
}

/** A page capture. Its digest is over the whole record. */
const pageCapture = recorded({
  schema: line('page_capture', { ledger_entry: number, source_key: number, record: recordedPageSchema }),
  rows: {
    from: 'page_captures',
    expressions: { record: "json_insert(record, '$.requests', json(requests))" },
  },
  types: ['page.captured'],
  digest: ({ record }) => fingerprintOf(record),
  check: (archive, { source_key, record: { id, source, retrieval } }, at) => {
    requireThat(archive.source(source_key, at).id === source, 'it belongs to another source.', at);
    requireThat(!archive.pages.has(id), 'an earlier line defines a page capture with this id.', at);
    requireThat(
      archive.retrievals.get(retrieval) === source_key && archive.parts.get(id) === source_key,
      'no earlier line defines its retrieval and its parts, or they belong to another source.',
      at,
    );
    archive.pages.set(id, source_key);
  },
  restore: (database, { kind: _kind, record, ...row }) => insertPage(database, { ...record, ...row }),
});

/** What a person handed in. Its digest is over the whole record. */
const handIn = recorded({
  schema: line('hand_in', { ledger_entry: number, source_key: number, record: recordedHandInSchema }),
  rows: { from: 'hand_ins', expressions: { record: "json_insert(record, '$.parts', json(parts))" } },
  types: ['page.handed_in'],
  digest: ({ record }) => fingerprintOf(record),
  check: (archive, { source_key, record: { id, source, retrieval } }, at) => {
    requireThat(archive.source(source_key, at).id === source, 'it belongs to another source.', at);
    requireThat(!archive.pages.has(id), 'an earlier line defines a record with this id.', at);
    requireThat(
      archive.retrievals.get(retrieval) === source_key &&
        (archive.parts.get(id) ?? source_key) === source_key,
      'no earlier line defines its retrieval and its parts, or they belong to another source.',
      at,
    );
    archive.pages.set(id, source_key);
  },
  restore: (database, { kind: _kind, record, ...row }) => insertHandIn(database, { ...record, ...row }),
});

/** A person can have a source's address fetched again and again while a check waits for its 304, but not often. */
const KEPT_OBJECTS = 8;

/** Checks a retrieval against its source, and keeps its number for later lines. */
function addRetrieval(
  archive: DumpedArchive,
  source: DumpedSource,
  value: Pick<
    z.output<z.ZodObject<typeof retrieved>>,
    'id' | 'round' | 'url' | 'observer' | 'error' | 'sha256' | 'bytes'
  > & { part_of?: string | undefined },
  at: number,
): void {
  const { id, round, url, observer, part_of, error, sha256, bytes } = value;
  requireThat(part_of !== undefined || url === source.url, 'its url is not that of its source.', at);
  requireThat(round === null || archive.rounds.has(round), 'no earlier line defines its round.', at);
  requireThat(
    sha256 === null ? bytes === null : bytes !== null || source.retrieved.includes(sha256),
    'its sha256 and its bytes do not fit together.',
    at,
  );
  if (part_of !== undefined) addPart(archive, source, part_of, at);
  else if (observer === SELF && error === null && sha256 !== null && sha256 !== source.retrieved[0])
    source.retrieved = [sha256, ...source.retrieved.slice(0, KEPT_OBJECTS - 1)];
  archive.retrievals.append(id, source.key);
}

/** All parts of a page capture belong to its source. */
function addPart({ parts }: DumpedArchive, { key }: DumpedSource, page: string, at: number): void {
  requireThat((parts.get(page) ?? key) === key, 'it is part of a page of another source.', at);
  parts.set(page, key);
}

const event = recorded({
  schema: line('event', {
    id: number,
    source_key: number,
    retrieval: number,
    event_type: eventTypeSchema,
    observer,
    observed_at: instantSchema,
    original_observed_at: instantSchema.nullable(),
    sha256: digestSchema.nullable(),
    previous_sha256: digestSchema.nullable(),
    reverts_to: number.nullable(),
    page_label: pageLabelSchema.nullable(),
    // Dumps from before page captures existed have none.
    page: pageIdSchema.nullable().optional(),
    ledger_entry: number,
  }),
  rows: { from: 'events', order: 'id', between: 'ledger_entry', json: ['page_label'] },
  types: ['event.recorded'],
  digest: (value, archive, at) => {
    const { id, url } = archive.source(value.source_key, at);
    return eventDigest({ ...value, source: id, url });
  },
  check: (archive, { retrieval: of, source_key, reverts_to, observer: by, ...value }, at) => {
    const { id, event_type, sha256, observed_at, page } = value;
    const source = archive.source(source_key, at);
    const next = archive.events.size + 1;
    requireThat(id === next, `event ${next} is missing before it.`, at);
    requireThat(
      archive.retrievals.get(of) === source_key,
      'no earlier line defines its retrieval, or the retrieval belongs to another source.',
      at,
    );
    requireThat(
      reverts_to === null || reverts_to < id,
      'it reverts to an event that no earlier line defines.',
      at,
    );
    requireThat(
      !page || archive.pages.get(page) === source_key,
      'no earlier line defines its page capture, or it belongs to another source.',
      at,
    );
    archive.events.append({ source_key, sha256, observed_at });
    if (by !== SELF) return;
    source.found.last_event_type = event_type;
    source.found.last_sha256 = sha256 ?? source.found.last_sha256;
  },
});

const EVENT_NOISE_ROWS: DumpedRows = {
  from: 'event_noise',
  order: 'event',
  members: ['event', 'is_noise', 'rules_digest', 'outside'],
};

const eventNoise = kind({
  schema: line('event_noise', {
    event: number,
    is_noise: flag,
    rules_digest: rulesDigestSchema,
    // Dumps from before a part could be watched have none.
    outside: flag.optional(),
  }),
  rows: EVENT_NOISE_ROWS,
  order: (value) => value.event,
  check: ({ events }, value, at) =>
    requireThat(value.event <= events.size, 'no earlier line defines its event.', at),
  restore: (database, value) =>
    restoreRow(database, EVENT_NOISE_ROWS, { ...value, outside: value.outside ?? 0 }),
});

/** What was observed of the sources. */
export const OBSERVATION_KINDS: Readonly<Record<string, DumpKind>> = {
  retrieval_batch: retrievalBatch,
  retrieval,
  page_capture: pageCapture,
  hand_in: handIn,
  event,
  event_noise: eventNoise,
};
