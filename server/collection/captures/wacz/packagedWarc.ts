import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
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
import type { Reader } from '../../../withholding/withholding.ts';
import { headerOf } from '../../fetch/httpMessage.ts';
import { type NewWarcRecord, serialize } from '../warc/exportRecords.ts';
import { type Exporter, recordsOfExport, type selectExport } from '../warc/exportWarc.ts';

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
  const notes = new Notes(database);
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
  readonly #database: ReadDatabase;
  /** The last record of an answer. The request that it answers may follow. */
  #last: PlacedRecord | undefined;
  #row: number | undefined;
  #batch: RetrievalBatch | undefined;
  /** The last page capture that was added: three things are kept of each. */
  #page: string | undefined;

  constructor(database: ReadDatabase) {
    this.#database = database;
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
    if (capture?.startsWith('pg_') && row.status === null && row.error === null) this.#addPage(capture);
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
    setPageLine(this.#database, id, JSON.stringify(page), null);
  }

  #addPage(id: string): void {
    const page = this.#page === id ? undefined : pageById(this.#database, id);
    this.#page = id;
    if (!page) return;
    const { url, title, started_at: ts, ledger_entry, retrieval } = page;
    setPageLine(this.#database, retrieval, JSON.stringify({ id, url, ts, title }), page.text);
    addEntries(this.#database, [ledger_entry]);
  }
}

const PAGE_TYPES: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml']);

/** Whether a record holds a document that a reader can open. */
function isPage(record: NewWarcRecord): boolean {
  if (record.type !== 'response') return false;
  const { status, mime } = answerOf(record);
  return status === 200 && PAGE_TYPES.has(mime);
}

/** The name by which the index refers to the only WARC file of a package. */
export const WARC_NAME = 'data.warc.gz';
export const INDEX_NAME = 'index.cdx.gz';

/** A record in the WARC file: where its gzip member is. */
interface PlacedRecord {
  record: NewWarcRecord;
  offset: number;
  length: number;
  /** The SHA-256 of the member, in hex. */
  sha256: string;
}

const INDEXED: ReadonlySet<NewWarcRecord['type']> = new Set(['response', 'resource', 'revisit']);

function isIndexed({ type }: NewWarcRecord): boolean {
  return INDEXED.has(type);
}

/**
 * Returns the line of a record in the index (CDXJ 0.1.0, https://specs.webrecorder.net/cdxj/0.1.0/). If it answers a
 * request with another method than GET, method and body are part of the key, as pywb and its relatives write and look for
 * them (https://specs.webrecorder.net/request-body-canonicalization/latest/).
 */
async function indexLine(
  { record, offset, length, sha256 }: PlacedRecord,
  request: NewWarcRecord | undefined,
): Promise<string> {
  // Loads the WARC library with the first package.
  const { getSurt } = await import('warcio');
  const url = String(record.fields['WARC-Target-URI'] ?? '');
  const sent = request && (await sentAs(request, url));
  const { status, mime } = answerOf(record);
  const members = {
    url,
    mime,
    status,
    digest: record.fields['WARC-Payload-Digest'] ?? NOTHING,
    length,
    offset,
    filename: WARC_NAME,
    recordDigest: `sha256:${sha256}`,
    ...(sent && { method: sent.method, requestBody: sent.requestBody }),
  };
  const key = getSurt(sent?.url ?? url).replace(/[\s\p{Cc}]/gu, encodeURIComponent);
  return `${key} ${record.date.replace(/\D/g, '').slice(0, 14)} ${JSON.stringify(members)}`;
}

/** The digest of a record that holds no bytes of the answer, such as a redirect. */
const NOTHING = `sha256:${createHash('sha256').digest('hex')}`;

/** Returns the status and the media type that a record states. Without an HTTP head it is what it holds. */
function answerOf({ type, head, contentType }: NewWarcRecord): { status: number; mime: string } {
  const [, code] = /^HTTP\/\d\.\d (\d{3})/.exec(head.toString('latin1', 0, 16)) ?? [];
  const stated = code === undefined ? contentType : (headerOf(headersIn(head), 'content-type') ?? '');
  const mime = (stated.split(/[;\s]/, 1)[0] ?? '').toLowerCase();
  return {
    status: Number(code ?? 200),
    mime: type === 'revisit' ? 'warc/revisit' : mime || 'application/octet-stream',
  };
}

function headersIn(head: Buffer): [string, string][] {
  const end = head.indexOf('\r\n\r\n');
  const [, ...lines] = head.toString('latin1', 0, end < 0 ? head.length : end).split('\r\n');
  return lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
}

/** As long as other tools make the query that stands for a body. */
const MAX_QUERY = 4_096;
/** A longer body is keyed by its first bytes. */
const MAX_BODY_BYTES = 1_048_576;

/** Returns how a request that is not GET is looked for: method, body as a query, and the address with both. */
async function sentAs(
  request: NewWarcRecord,
  url: string,
): Promise<{ method: string; requestBody: string; url: string } | undefined> {
  const { postToGetUrl } = await import('warcio');
  const [, method] = /^([A-Z]+) /.exec(request.head.toString('latin1', 0, 32)) ?? [];
  if (method === undefined || method === 'GET') return undefined;
  const headers = new Map(
    headersIn(request.head).map(([name, value]) => [name.toLowerCase(), value] as const),
  );
  const asked = { method, url, headers, postData: await bodyOf(request), requestBody: '' };
  return postToGetUrl(asked, MAX_QUERY)
    ? { method, requestBody: asked.requestBody, url: asked.url }
    : undefined;
}

async function bodyOf({ head, body }: NewWarcRecord): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [head.subarray(head.indexOf('\r\n\r\n') + 4)];
  let bytes = 0;
  for await (const chunk of body?.chunks() ?? []) {
    pieces.push(chunk);
    bytes += chunk.length;
    if (bytes >= MAX_BODY_BYTES) break;
  }
  return new Uint8Array(Buffer.concat(pieces)).subarray(0, MAX_BODY_BYTES);
}

/** The number of lines in a block of the index, as other tools have it. */
const LINES_PER_BLOCK = 1_024;

/**
 * Yields the sorted lines as gzip members of some lines each. `blocks` gets a line for each member: readers look there
 * first, and then read one member instead of the whole index.
 */
export async function* compressIndex(lines: Iterable<string>, blocks: string[]): AsyncGenerator<Buffer> {
  blocks.push(`!meta 0 ${JSON.stringify({ format: 'cdxj-gzip-1.0', filename: INDEX_NAME })}\n`);
  let held: string[] = [];
  let offset = 0;
  const compress = async () => {
    const member = await promisify(gzip)(held.join(''));
    const [key, time] = held[0]?.split(' ', 2) ?? [];
    const digest = `sha256:${createHash('sha256').update(member).digest('hex')}`;
    const place = { offset, length: member.length, digest, filename: INDEX_NAME };
    blocks.push(`${key} ${time} ${JSON.stringify(place)}\n`);
    offset += member.length;
    held = [];
    return member;
  };
  for (const line of lines) {
    held.push(`${line}\n`);
    if (held.length === LINES_PER_BLOCK) yield await compress();
  }
  // A gzip file has at least one member, even if it is empty.
  if (held.length > 0) yield await compress();
  else if (offset === 0) yield await promisify(gzip)('');
}
