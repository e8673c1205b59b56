import type { WarcQuery } from '../../../../shared/collection/warc.ts';
import { Problem } from '../../../../shared/problems.ts';
import { confirmDamage } from '../../../fixity/confirmDamage.ts';
import { databaseFile } from '../../../store/blobs/paths.ts';
import { sourceById } from '../../../store/sqlite/collection/sources.ts';
import {
  createWrittenObjectsTable,
  iterateWarcRows,
  newestAttemptAt,
  type WarcFilter,
} from '../../../store/sqlite/collection/warcRows.ts';
import type { ReadDatabase } from '../../../store/sqlite/engine/open.ts';
import { openSnapshot } from '../../../store/sqlite/engine/writeAheadLog.ts';
import { lastEntry } from '../../../store/sqlite/node/ledger.ts';
import type { Store } from '../../../store/store.ts';
import { firstInstantOf, lastInstantOf } from '../../timeline/events.ts';
import { recordsOfAttempt } from './attemptRecords.ts';
import { formatNamedFields, type NewWarcRecord, recordId, serialize } from './writeRecord.ts';

/** The node that exports. */
export interface Exporter {
  nodeName: string;
  nodeKey: string;
  version: string;
}

/** A WARC file ready to be streamed. */
export interface WarcExport {
  filename: string;
  bytes: () => AsyncGenerator<Uint8Array>;
}

/**
 * Exports the attempts on one source, or on all, within a time range as a WARC/1.1 file. The same attempts produce the
 * same bytes: ids are derived from the attempts' numbers, and the file's date is that of the archive's newest attempt.
 *
 * @throws Problem `not_found` if there is no such source.
 */
export function exportWarc(store: Store, exporter: Exporter, query: WarcQuery): WarcExport {
  const source = query.source === undefined ? undefined : sourceById(store.read, query.source);
  if (query.source !== undefined && !source) throw new Problem('not_found', 'There is no such source.');
  const filter: WarcFilter = {
    source_key: source?.key ?? null,
    since: query.since === undefined ? null : firstInstantOf(query.since),
    until: query.until === undefined ? null : lastInstantOf(query.until),
  };
  const details = {
    filename: filenameOf(query, filter),
    description: `Attempts on ${source?.url ?? 'every source'} from ${filter.since ?? 'the first'} to ${filter.until ?? 'the last'}`,
  };
  return {
    filename: details.filename,
    bytes: () => coalesce(write(store, exporter, { ...details, filter, isCompressed: query.gzip ?? false })),
  };
}

interface FileDetails {
  filename: string;
  description: string;
  filter: WarcFilter;
  isCompressed: boolean;
}

/** Damaged objects are recorded in batches of this size. After the restore of a dump, many objects may be missing. */
const DAMAGE_BATCH = 100;

/** Reads one snapshot on its own connection, which closes when the iteration ends. Memory use is constant. */
async function* write(store: Store, exporter: Exporter, details: FileDetails): AsyncGenerator<Uint8Array> {
  const database = await openSnapshot(databaseFile(store.folder), { isMapped: false });
  const damaged = new Set<string>();
  const notice = async (minimum: number) => {
    if (damaged.size < minimum) return;
    const batch = [...damaged];
    damaged.clear();
    await confirmDamage(store, batch);
  };
  try {
    createWrittenObjectsTable(database);
    const info = warcinfo(database, exporter, details);
    yield* serialize(info, details.isCompressed);
    const onDamaged = (sha256: string) => void damaged.add(sha256);
    const source = { store, database, nodeKey: exporter.nodeKey, warcinfo: info.id, onDamaged };
    for (const row of iterateWarcRows(database, details.filter)) {
      for await (const record of recordsOfAttempt(source, row))
        yield* serialize(record, details.isCompressed);
      await notice(DAMAGE_BATCH);
    }
  } finally {
    database.close();
    await notice(1);
  }
}

/** Small pieces are joined up to about this size. */
const PIECE_BYTES = 32_768;

async function* coalesce(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    held.push(piece);
    bytes += piece.length;
    if (bytes < PIECE_BYTES) continue;
    yield held.length === 1 ? piece : Buffer.concat(held, bytes);
    [held, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(held, bytes);
}

function warcinfo(
  database: ReadDatabase,
  { nodeName, nodeKey, version }: Exporter,
  { filename, description }: FileDetails,
): NewWarcRecord {
  const date = newestAttemptAt(database) ?? lastEntry(database)?.at ?? new Date(0).toISOString();
  return {
    type: 'warcinfo',
    id: recordId(`urn:strongroom:${nodeKey}:export:${date}:${filename}`),
    date,
    fields: { 'WARC-Filename': filename },
    contentType: 'application/warc-fields',
    head: Buffer.from(
      formatNamedFields({
        software: `Strongroom/${version}`,
        format: 'WARC File Format 1.1',
        conformsTo: 'http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/',
        isPartOf: nodeName,
        description,
        'node-key': nodeKey,
      }),
    ),
  };
}

function filenameOf({ source, gzip }: WarcQuery, { since, until }: WarcFilter): string {
  const span = [since, until].map((instant) => instant?.replace(/\D/g, '') ?? '');
  const parts = ['strongroom', source ?? 'all', ...(since || until ? [span.join('-')] : [])];
  return `${parts.join('_')}.warc${gzip ? '.gz' : ''}`;
}
