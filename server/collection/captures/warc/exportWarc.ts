import type { WarcQuery } from '../../../../shared/collection/captures.ts';
import { Problem } from '../../../../shared/problems.ts';
import { confirmDamage } from '../../../fixity/audit.ts';
import { databaseFile } from '../../../store/files.ts';
import { sourceById } from '../../../store/sqlite/collection/sources.ts';
import {
  createWrittenObjectsTable,
  iterateWarcRows,
  newestAttemptAt,
  type WarcFilter,
  type WarcRow,
} from '../../../store/sqlite/collection/warcRows.ts';
import type { ReadDatabase } from '../../../store/sqlite/engine/open.ts';
import { openSnapshot } from '../../../store/sqlite/engine/writeAheadLog.ts';
import { lastEntry } from '../../../store/sqlite/node/ledger.ts';
import type { Store } from '../../../store/store.ts';
import type { Reader } from '../../../withholding/withholding.ts';
import { firstInstantOf, lastInstantOf } from '../../timeline/events.ts';
import {
  formatNamedFields,
  type NewWarcRecord,
  recordId,
  recordsOfAttempt,
  serialize,
} from './exportRecords.ts';

/** The node that exports. */
export interface Exporter {
  nodeName: string;
  nodeKey: string;
  version: string;
}

/** A WARC file ready to be streamed. */
interface WarcExport {
  filename: string;
  bytes: () => AsyncGenerator<Uint8Array>;
}

/**
 * Exports the attempts on one source, or on all, within a time range as a WARC/1.1 file for a reader. What the reader
 * may not read is left out, and the metadata of the attempt says so. Otherwise the same attempts produce the same
 * bytes: ids are derived from the attempts' numbers, and the file's date is that of the archive's newest attempt.
 *
 * @throws Problem `not_found` if there is no such source.
 */
export function exportWarc(store: Store, exporter: Exporter, query: WarcQuery, reader: Reader): WarcExport {
  const { name, ...selection } = selectExport(store, query);
  const filename = `${name}.warc${query.gzip ? '.gz' : ''}`;
  const details = { filename, ...selection, isCompressed: query.gzip ?? false, reader };
  return { filename, bytes: () => coalesce(write(store, exporter, details)) };
}

/** Returns what a query selects, in words too, and a name for a file of it. @throws Problem `not_found` */
export function selectExport(
  store: Pick<Store, 'read'>,
  query: Pick<WarcQuery, 'source' | 'since' | 'until'>,
): { name: string; description: string; filter: WarcFilter } {
  const source = query.source === undefined ? undefined : sourceById(store.read, query.source);
  if (query.source !== undefined && !source) throw new Problem('not_found', 'There is no such source.');
  const filter: WarcFilter = {
    source_key: source?.key ?? null,
    since: query.since === undefined ? null : firstInstantOf(query.since),
    until: query.until === undefined ? null : lastInstantOf(query.until),
  };
  const { since, until } = filter;
  const span = [since, until].map((instant) => instant?.replace(/\D/g, '') ?? '');
  const parts = ['strongroom', query.source ?? 'all', ...(since || until ? [span.join('-')] : [])];
  return {
    name: parts.join('_'),
    description: `Attempts on ${source?.url ?? 'every source'} from ${since ?? 'the first'} to ${until ?? 'the last'}`,
    filter,
  };
}

interface FileDetails {
  filename: string;
  description: string;
  filter: WarcFilter;
  isCompressed: boolean;
  reader: Reader;
}

/** Reads one snapshot on its own connection, which closes when the iteration ends. Memory use is constant. */
async function* write(store: Store, exporter: Exporter, details: FileDetails): AsyncGenerator<Uint8Array> {
  const database = await openSnapshot(databaseFile(store.folder));
  try {
    for await (const { record } of recordsOfExport(store, database, exporter, details))
      yield* serialize(record, details.isCompressed);
  } finally {
    database.close();
  }
}

/** Damaged objects are recorded in batches of this size. After the restore of a dump, many objects may be missing. */
const DAMAGE_BATCH = 100;

/** A record of an export, and the attempt that it is of; the first record is of none. */
interface ExportedRecord {
  record: NewWarcRecord;
  row: WarcRow | null;
}

/** Yields the records of an export from one snapshot. A record must be read before the next one is requested. */
export async function* recordsOfExport(
  store: Store,
  database: ReadDatabase,
  exporter: Exporter,
  details: Omit<FileDetails, 'isCompressed'>,
): AsyncGenerator<ExportedRecord> {
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
    yield { record: info, row: null };
    const onDamaged = (sha256: string) => void damaged.add(sha256);
    const { reader } = details;
    const source = { store, database, nodeKey: exporter.nodeKey, warcinfo: info.id, onDamaged, reader };
    for (const row of iterateWarcRows(database, details.filter)) {
      for await (const record of recordsOfAttempt(source, row)) yield { record, row };
      await notice(DAMAGE_BATCH);
    }
  } finally {
    await notice(1);
  }
}

/** Small pieces are joined up to about this size. */
const PIECE_BYTES = 32_768;

export async function* coalesce(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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
  { filename, description }: Pick<FileDetails, 'filename' | 'description'>,
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
