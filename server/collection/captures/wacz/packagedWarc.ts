import { createHash } from 'node:crypto';
import { isMissing, isUnreadable } from '../../../store/blobs/blobStore.ts';
import { pageById } from '../../../store/sqlite/collection/pages.ts';
import { batchOf, type RetrievalBatch } from '../../../store/sqlite/collection/retrievalBatches.ts';
import {
  addEntries,
  addIndexLine,
  addRetrieval,
  eventsOfAttempt,
  setPageLine,
  type WarcRow,
} from '../../../store/sqlite/collection/warcRows.ts';
import type { ReadDatabase } from '../../../store/sqlite/engine/open.ts';
import type { Store } from '../../../store/store.ts';
import { areReadable, type Reader } from '../../../withholding/withholding.ts';
import { type NewWarcRecord, serialize } from '../warc/exportRecords.ts';
import { type Exporter, recordsOfExport, type selectExport } from '../warc/exportWarc.ts';
import { answerOf, indexLine, isIndexed, type PlacedRecord, WARC_NAME } from './cdxj.ts';

/**
 * Yields the WARC file of a package, and notes in the tables of the package what is in it: the lines of the index, the
 * pages, the retrievals, and the ledger entries that record them.
 */
export async function* packagedWarc(
  store: Store,
  database: ReadDatabase,
  exporter: Exporter,
  selection: Omit<ReturnType<typeof selectExport>, 'name'> & { reader: Reader },
): AsyncGenerator<Uint8Array> {
  const details = { ...selection, filename: WARC_NAME };
  const notes = new Notes(store, database, selection.reader);
  let offset = 0;
  for await (const { record, row } of recordsOfExport(store, database, exporter, details)) {
    const sha256 = createHash('sha256');
    const start = offset;
    for await (const chunk of serialize(record, true)) {
      sha256.update(chunk);
      offset += chunk.length;
      yield chunk;
    }
    const placed = { record, offset: start, length: offset - start, sha256: sha256.digest('hex') };
    await notes.add(placed, row);
  }
  await notes.end();
}

class Notes {
  readonly #store: Store;
  readonly #database: ReadDatabase;
  readonly #reader: Reader;
  /** The last record of an answer. The request that it answers may follow. */
  #last: PlacedRecord | undefined;
  #row: number | undefined;
  #batch: RetrievalBatch | undefined;
  /** The last page capture that was added: three things are kept of each. */
  #page: string | undefined;

  constructor(store: Store, database: ReadDatabase, reader: Reader) {
    this.#store = store;
    this.#database = database;
    this.#reader = reader;
  }

  async add(placed: PlacedRecord, row: WarcRow | null): Promise<void> {
    const { record } = placed;
    const isAnswered =
      record.type === 'request' && record.fields['WARC-Concurrent-To'] === this.#last?.record.id;
    await this.#settle(isAnswered ? record : undefined);
    if (isIndexed(record)) this.#last = placed;
    if (!row) return;
    const capture = row.part_of ?? null;
    if (capture === null && isPage(record)) this.#addDocument(record, row);
    if (row.id === this.#row) return;
    this.#row = row.id;
    this.#addRow(row);
    // What the page showed has no status. Its parts have one, or an error.
    if (capture?.startsWith('pg_') && row.status === null && row.error === null) await this.#addPage(capture);
  }

  async end(): Promise<void> {
    await this.#settle(undefined);
  }

  async #settle(request: NewWarcRecord | undefined): Promise<void> {
    const last = this.#last;
    this.#last = undefined;
    if (last) addIndexLine(this.#database, await indexLine(last, request));
  }

  #addRow(row: WarcRow): void {
    addRetrieval(this.#database, row.id);
    if (!this.#batch || row.id < this.#batch.first || row.id > this.#batch.last)
      this.#batch = batchOf(this.#database, row.id);
    const events = eventsOfAttempt(this.#database, row).map(({ ledger_entry }) => ledger_entry);
    addEntries(this.#database, [...(this.#batch ? [this.#batch.ledger_entry] : []), ...events]);
  }

  /** A document that was not drawn. If it was, its page capture takes its place. */
  #addDocument({ fields, date }: NewWarcRecord, { id }: WarcRow): void {
    const page = { id: `retrieval-${id}`, url: fields['WARC-Target-URI'], ts: date };
    setPageLine(this.#database, id, JSON.stringify(page));
  }

  async #addPage(id: string): Promise<void> {
    const page = this.#page === id ? undefined : pageById(this.#database, id);
    this.#page = id;
    if (!page) return;
    const { url, title, started_at: ts, ledger_entry, retrieval } = page;
    // A page whose text the reader may not read is listed without it.
    const isShown = areReadable(this.#store.read, [page.text], this.#reader);
    const text = isShown ? await readText(this.#store, page.text) : undefined;
    setPageLine(this.#database, retrieval, JSON.stringify({ id, url, ts, title, text }));
    addEntries(this.#database, [ledger_entry]);
  }
}

/** Returns the text of a page; undefined if it is missing or damaged, which the WARC file says. */
async function readText({ blobs }: Pick<Store, 'blobs'>, sha256: string): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of blobs.read(sha256)) pieces.push(piece);
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return undefined;
    throw error;
  }
  const bytes = Buffer.concat(pieces);
  return createHash('sha256').update(bytes).digest('hex') === sha256 ? bytes.toString() : undefined;
}

const PAGE_TYPES: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml']);

/** Whether a record holds a document that a reader can open. */
function isPage(record: NewWarcRecord): boolean {
  if (record.type !== 'response') return false;
  const { status, mime } = answerOf(record);
  return status === 200 && PAGE_TYPES.has(mime);
}
