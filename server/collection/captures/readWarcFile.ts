import type { BlobStore, StagedBlob } from '../../store/blobs/blobStore.ts';
import type { CaptureSpool } from '../../store/sqlite/collection/captureSpool.ts';
import type { ObjectReceiver } from '../record/objectReceiver.ts';
import { sourceIdOf } from '../sources/sources.ts';
import { RefusedCaptureError } from './capture.ts';
import { CaptureFileTooLargeError, DamagedCaptureFileError } from './captureFileErrors.ts';
import type { CaptureSpace } from './captureSpace.ts';
import { splitHead } from './httpMessage.ts';
import { discardPayload, type Payload } from './readPayload.ts';
import { type CaptureRecord, type RecordServices, readRecord, stripAngleBrackets } from './readRecord.ts';
import type { WarcRecord } from './readWarc.ts';
import type { SpooledRecord } from './resolveRevisit.ts';
import type { Tally } from './tally.ts';

/** Captures that were read from a file and are not recorded yet. */
export interface PendingCaptures {
  spool: CaptureSpool;
  space: CaptureSpace;
  /** Objects too large for the spool, by digest. */
  large: Map<string, StagedBlob>;
}

export interface ReadServices extends RecordServices {
  receiver: Pick<ObjectReceiver, 'isStored'>;
  stage: Pick<BlobStore, 'stage' | 'expect'>;
  maxUnpackedBytes: number;
}

/** What a file states about itself. */
export interface FileDescription {
  /** The number of records that begin in the file. */
  records: number;
  /** The named fields of its first `warcinfo`, by their lowercase names. */
  info: Map<string, string>;
}

const MAX_INFO_BYTES = 65_536;
const KEPT_TYPES: ReadonlySet<string> = new Set(['response', 'resource', 'revisit']);

/**
 * Reads all records of a WARC file and adds its captures to `pending`. If the file is cut off or corrupt, the captures
 * before the damage are kept and the damage is counted.
 *
 * @throws DamagedCaptureFileError if not even one record could be read; the signal's reason.
 */
export async function readWarcFile(
  services: ReadServices,
  pending: PendingCaptures,
  tally: Tally,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<FileDescription> {
  const description: FileDescription = { records: 0, info: new Map() };
  // Added once the next record begins: until then the gzip checksum may still show that the record is corrupt.
  let last: CaptureRecord | undefined;
  const settle = async () => {
    const read = last;
    last = undefined;
    if (read) await add(services, pending, tally, read);
  };
  try {
    // Loads the WARC library with the first import.
    const { readWarc } = await import('./readWarc.ts');
    for await (const record of readWarc(bytes, services.maxUnpackedBytes)) {
      signal.throwIfAborted();
      await settle();
      description.records += 1;
      last = await readAny(services, pending.spool, tally, description, record);
    }
    if (description.records === 0) throw new DamagedCaptureFileError('The file holds no record.');
    await settle();
  } catch (error) {
    if (last && error instanceof DamagedCaptureFileError && error.invalidatesLast) {
      if (last.payload) await discardPayload(last.payload);
      last = undefined;
    }
    const isEnd = error instanceof DamagedCaptureFileError || error instanceof CaptureFileTooLargeError;
    if (!isEnd || description.records === 0) throw error;
    await settle();
    tally.refuse(error instanceof CaptureFileTooLargeError ? 'file_too_large' : 'damaged');
  }
  return description;
}

/** Reads a record of any type. Returns it if it holds a capture. */
async function readAny(
  services: ReadServices,
  spool: CaptureSpool,
  tally: Tally,
  description: FileDescription,
  record: WarcRecord,
): Promise<CaptureRecord | undefined> {
  if (!KEPT_TYPES.has(record.type) || isWgetMetadata(record)) {
    if (record.type === 'continuation') tally.refuse('segmented');
    else tally.skipped += 1;
    if (record.type === 'request') await noteOtherMethod(spool, record);
    if (record.type === 'warcinfo' && description.info.size === 0) description.info = await readInfo(record);
    return undefined;
  }
  try {
    return await readRecord(services, record);
  } catch (error) {
    if (!(error instanceof RefusedCaptureError)) throw error;
    tally.refuse(error.reason);
    return undefined;
  }
}

/** wget stores its log and arguments as resources at `metadata://`. */
function isWgetMetadata(record: WarcRecord): boolean {
  return record.type === 'resource' && /^<?metadata:/i.test(record.field('warc-target-uri') ?? '');
}

/** Notes a request with a method other than GET: its response is not what the address shows. */
async function noteOtherMethod(spool: CaptureSpool, record: WarcRecord): Promise<void> {
  let method = '';
  for await (const chunk of record.block) {
    method += Buffer.from(chunk).toString('latin1', 0, 16);
    if (method.length >= 16) break;
  }
  if (method.startsWith('GET ') || !/^[A-Z]+ /.test(method)) return;
  const ids = [record.field('warc-record-id') ?? '', ...record.fields('warc-concurrent-to')];
  for (const id of ids.map(stripAngleBrackets)) spool.addNotGet(id);
}

/** Reads the named fields of a `warcinfo` with the parser of HTTP heads, behind an artificial status line. */
async function readInfo(record: WarcRecord): Promise<Map<string, string>> {
  if (record.length > MAX_INFO_BYTES) return new Map();
  const { headers } = await splitHead(withStatusLine(record.block));
  return new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

async function* withStatusLine(
  block: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from('HTTP/1.1 200\r\n');
  yield* block;
}

/** Adds a capture to the spool, and its bytes unless they are already held. */
async function add(
  services: ReadServices,
  { spool, space, large }: PendingCaptures,
  tally: Tally,
  { payload, answer, ...read }: CaptureRecord,
): Promise<void> {
  if (payload && !(await addPayload(services, { spool, space, large }, payload)))
    return tally.refuse('no_room');
  const { url, at, refersTo, concurrent, record_id, payload_digest } = read;
  const record: SpooledRecord = { url, bytes: payload?.bytes ?? null, answer, refersTo, concurrent };
  spool.add({
    at,
    source: sourceIdOf(url),
    sha256: payload?.sha256 ?? null,
    record_id,
    payload_digest,
    record: JSON.stringify(record),
  });
}

/** Adds the payload unless it is already held. Returns false if there is too little disk space for it. */
async function addPayload(
  { receiver, stage }: ReadServices,
  { spool, space, large }: PendingCaptures,
  payload: Payload,
): Promise<boolean> {
  const { sha256, bytes, content } = payload;
  const isKnown = spool.hasObject(sha256) || large.has(sha256) || (await receiver.isStored(sha256));
  if (isKnown || !(await space.reserve(bytes))) {
    await discardPayload(payload);
    return isKnown;
  }
  stage.expect(sha256);
  if (Buffer.isBuffer(content)) spool.addObject(sha256, content);
  else large.set(sha256, content);
  return true;
}
