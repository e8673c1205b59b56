import { createHash } from 'node:crypto';
import type { Connection } from '../../../../shared/collection/connection.ts';
import { SELF } from '../../../../shared/collection/event.ts';
import {
  attemptWithBody,
  eventsOfAttempt,
  insertWrittenObject,
  type WarcRow,
  type WrittenObject,
  writtenObject,
} from '../../../store/sqlite/collection/warcRows.ts';
import type { ReadDatabase } from '../../../store/sqlite/engine/open.ts';
import type { Store } from '../../../store/store.ts';
import { requestBlock, responseHead } from './httpBlocks.ts';
import { readStoredBody } from './storedBody.ts';
import { formatNamedFields, type NewWarcRecord, recordId } from './writeRecord.ts';

const SAME_PAYLOAD = 'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest';
const NOT_MODIFIED = 'http://netpreserve.org/warc/1.1/revisit/server-not-modified';

/** The inputs for the records of a file. */
export interface WarcSource {
  store: Pick<Store, 'blobs'>;
  database: ReadDatabase;
  /** The node's verifier key: attempt numbers are unique within one node. */
  nodeKey: string;
  warcinfo: string;
  /** Called for each object whose bytes are damaged or missing. */
  onDamaged: (sha256: string) => void;
}

/**
 * Yields the records of one attempt: the redirects, the response, the request, and metadata. The response, and with it the
 * redirects, are left out unless all of it is held. An object already in the file is referred to, not repeated. A 304 refers to an earlier object: if the file
 * does not contain it yet, the attempt that brought it is written first.
 */
export async function* recordsOfAttempt(source: WarcSource, row: WarcRow): AsyncGenerator<NewWarcRecord> {
  const { database } = source;
  const written = row.sha256 === null ? undefined : writtenObject(database, row.sha256);
  if (written?.retrieval === row.id) return;
  if (row.status === 304 && row.sha256 !== null && written === undefined) {
    const origin = attemptWithBody(database, row);
    if (origin) yield* recordsOfAttempt(source, origin);
  }
  const main = await mainRecord(source, row);
  if (main) {
    // Without the response that they lead to, they would lead nowhere. The metadata lists them in any case.
    yield* redirectRecords(source, row);
    yield main;
  }
  const block = requestBlock(row);
  if (main && block) {
    yield {
      ...common(source, row, 'request'),
      fields: { ...about(source, row), 'WARC-Concurrent-To': main.id },
      contentType: 'application/http; msgtype=request',
      head: block,
    };
  }
  yield {
    ...common(source, row, 'metadata'),
    fields: { ...about(source, row), 'WARC-Concurrent-To': main?.id },
    contentType: 'application/warc-fields',
    head: Buffer.from(formatNamedFields(metadataOf(source, row, main !== undefined))),
  };
}

const SHA256_OF_NOTHING = createHash('sha256').digest('hex');

/**
 * Yields a response for each redirect. Its body is not kept, so the record is truncated and states no payload digest
 * (ISO 28500, section 5.13), unless the server said that the body was empty. Attempts of earlier versions have no headers
 * of redirects: `Location` is then the address that was requested next.
 */
function* redirectRecords(source: WarcSource, row: WarcRow): Generator<NewWarcRecord> {
  if (!isRedirectedFrom(row)) return;
  for (const [index, { url, status, headers, connection }] of row.redirects.entries()) {
    const next = row.redirects[index + 1]?.url ?? row.final_url;
    const known: [string, string][] = next === url ? [] : [['Location', next]];
    const isEmpty = headers !== undefined && isEmptyBody(headers);
    yield {
      ...common(source, row, 'response', `redirect:${index}`),
      fields: {
        ...about(source, row),
        'WARC-Target-URI': url,
        ...connectionFields(connection),
        'WARC-Payload-Digest': isEmpty ? `sha256:${SHA256_OF_NOTHING}` : undefined,
        'WARC-Truncated': isEmpty ? undefined : 'unspecified',
      },
      contentType: 'application/http; msgtype=response',
      head: responseHead({ status, headers: headers ?? known }, isEmpty ? 0 : 'omitted'),
    };
  }
}

/** Returns whether the server announced an empty body. */
function isEmptyBody(headers: readonly (readonly [string, string])[]): boolean {
  const valuesOf = (wanted: string) =>
    headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value.trim());
  const lengths = valuesOf('content-length');
  return (
    lengths.length > 0 && lengths.every((value) => value === '0') && !valuesOf('transfer-encoding').length
  );
}

/** Whether the redirects begin at the address itself. Those of a memento are between addresses of its archive. */
function isRedirectedFrom({ url, redirects }: WarcRow): boolean {
  return redirects[0]?.url === url;
}

async function mainRecord(source: WarcSource, row: WarcRow): Promise<NewWarcRecord | undefined> {
  if (row.sha256 === null) return undefined;
  const written = writtenObject(source.database, row.sha256);
  if (written) return revisit(source, row, row.sha256, written);
  return row.status === 304 ? undefined : responseRecord(source, row, row.sha256);
}

async function responseRecord(
  source: WarcSource,
  row: WarcRow,
  sha256: string,
): Promise<NewWarcRecord | undefined> {
  const { store, database, onDamaged } = source;
  // A capture without an HTTP head is written as a resource: the bytes alone.
  const isResource = row.status === null;
  const headOf = (bytes: number) => (isResource ? Buffer.alloc(0) : responseHead(row, bytes));
  const stored = await readStoredBody(store, database, sha256, headOf);
  if (!stored) {
    onDamaged(sha256);
    return undefined;
  }
  const record = common(source, row, isResource ? 'resource' : 'response');
  insertWrittenObject(database, sha256, {
    retrieval: row.id,
    record: record.id,
    url: targetOf(row),
    date: record.date,
  });
  return {
    ...record,
    fields: { ...about(source, row), 'WARC-Payload-Digest': `sha256:${sha256}` },
    contentType: isResource
      ? row.content_type || 'application/octet-stream'
      : 'application/http; msgtype=response',
    ...stored,
  };
}

function revisit(source: WarcSource, row: WarcRow, sha256: string, written: WrittenObject): NewWarcRecord {
  const head = row.status === null ? Buffer.alloc(0) : responseHead(row, null);
  const isShortened = row.status !== 304 && head.length > 0;
  return {
    ...common(source, row, 'revisit'),
    fields: {
      ...about(source, row),
      'WARC-Profile': row.status === 304 ? NOT_MODIFIED : SAME_PAYLOAD,
      // ISO 28500, section 6.7.2, requires it if the payload is left out of a block.
      'WARC-Truncated': isShortened ? 'length' : undefined,
      'WARC-Refers-To': written.record,
      'WARC-Refers-To-Target-URI': written.url,
      'WARC-Refers-To-Date': written.date,
      'WARC-Payload-Digest': `sha256:${sha256}`,
    },
    contentType: 'application/http; msgtype=response',
    head,
  };
}

function common<Type extends NewWarcRecord['type']>(
  { nodeKey }: WarcSource,
  row: WarcRow,
  type: Type,
  part: string = type,
) {
  const name = `urn:strongroom:${nodeKey}:retrieval:${row.id}:${part}`;
  return { type, id: recordId(name), date: row.original_observed_at ?? row.observed_at };
}

function about({ warcinfo }: WarcSource, row: WarcRow): NewWarcRecord['fields'] {
  return {
    'WARC-Warcinfo-ID': warcinfo,
    'WARC-Target-URI': targetOf(row),
    ...connectionFields(row.connection),
  };
}

/** `WARC-Protocol` and `WARC-Cipher-Suite` are extensions that other crawlers write, too. */
function connectionFields(connection: Connection | null | undefined): NewWarcRecord['fields'] {
  const tls = connection?.tls;
  return {
    'WARC-IP-Address': connection?.address,
    'WARC-Protocol': [
      ...(connection?.http ? [`http/${connection.http}`] : []),
      ...(tls ? [tls.version.toLowerCase().replace(/^tlsv/, 'tls/')] : []),
    ],
    'WARC-Cipher-Suite': tls?.cipher,
  };
}

/** Returns the address that the bytes belong to: for a third party's capture the captured one, not its archive's. */
function targetOf(row: WarcRow): string {
  return row.observer === SELF || isRedirectedFrom(row) ? row.final_url : row.url;
}

/** Returns what the archive knows about an attempt beyond the HTTP messages. */
function metadataOf(
  { database }: WarcSource,
  row: WarcRow,
  isWritten: boolean,
): Record<string, string | undefined> {
  const { redirects, page_label, sha256, connection } = row;
  const events = eventsOfAttempt(database, row);
  return {
    retrieval: String(row.id),
    source: row.source,
    'source-url': row.source_url,
    observer: row.observer,
    'fetched-from': row.final_url === targetOf(row) ? undefined : row.final_url,
    'observed-at': row.observed_at,
    'original-observed-at': row.original_observed_at ?? undefined,
    status: row.status === null ? undefined : String(row.status),
    error: row.error ?? undefined,
    redirects:
      redirects.length > 0 ? redirects.map(({ url, status }) => `${status} ${url}`).join(' ') : undefined,
    port: connection ? String(connection.port) : undefined,
    dns: connection?.dns?.join(', '),
    certificates: joinOrOmit((connection?.tls?.certificates ?? []).map((each) => `sha256:${each.sha256}`)),
    'duration-ms': String(row.duration_ms),
    object: sha256 === null ? undefined : `sha256:${sha256}`,
    'object-state': sha256 === null || isWritten ? undefined : 'missing or damaged',
    'page-label': page_label === null ? undefined : `${page_label.label}: ${page_label.reason}`,
    events: joinOrOmit(events.map(({ id, event_type }) => `${id} ${event_type}`)),
    'ledger-entries': joinOrOmit(events.map(({ ledger_entry }) => String(ledger_entry))),
  };
}

function joinOrOmit(words: readonly string[]): string | undefined {
  return words.length > 0 ? words.join(', ') : undefined;
}
