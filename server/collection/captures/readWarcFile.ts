import type { BlobStore, StagedBlob } from '../../store/blobs/blobStore.ts';
import type { CaptureSpool } from '../../store/sqlite/collection/captureSpool.ts';
import type { ObjectReceiver } from '../record/objectReceiver.ts';
import { sourceIdOf } from '../sources/sources.ts';
import { RefusedCaptureError } from './capture.ts';
import type { CaptureSpace } from './captureRoom.ts';
import { CaptureFileTooLargeError, DamagedCaptureFileError } from './damage.ts';
import { splitHead } from './httpMessage.ts';
import { discardPayload, type Payload } from './readPayload.ts';
import { type CaptureRecord, type RecordServices, readRecord, stripAngleBrackets } from './readRecord.ts';
import type { SpooledRecord } from './resolveRevisit.ts';
import type { Tally } from './tally.ts';
import { readWarc, type WarcRecord } from './warcRecords.ts';

/** Where what is read of a file waits until it is recorded. */
export interface Waiting {
  spool: CaptureSpool;
  room: CaptureSpace;
  /** Objects too large for the spool, by their digests. */
  large: Map<string, StagedBlob>;
}

export interface ReadServices extends RecordServices {
  receiver: Pick<ObjectReceiver, 'isStored'>;
  stage: Pick<BlobStore, 'stage' | 'expect'>;
  maxUnpackedBytes: number;
}

/** What a file says of itself. */
export interface FileDescription {
  /** How many records began. */
  records: number;
  /** The named fields of its first `warcinfo`, by their lowercase names. */
  info: Map<string, string>;
}

const MAX_INFO_BYTES = 65_536;
const KEPT_TYPES: ReadonlySet<string> = new Set(['response', 'resource', 'revisit']);

/**
 * Reads a WARC file from its first record to its last and lets its captures wait. Where the file is cut or corrupt,
 * what came whole before stays, and the damage is counted.
 *
 * @throws DamagedCaptureFileError where not even one record could be read; the signal's reason.
 */
export async function readWarcFile(
  services: ReadServices,
  waiting: Waiting,
  tally: Tally,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<FileDescription> {
  const description: FileDescription = { records: 0, info: new Map() };
  // Added once the next record begins: until then a checksum may still say that it is not what was packed.
  let last: CaptureRecord | undefined;
  const settle = async () => {
    const read = last;
    last = undefined;
    if (read) await add(services, waiting, tally, read);
  };
  try {
    for await (const record of readWarc(bytes, services.maxUnpackedBytes)) {
      signal.throwIfAborted();
      await settle();
      description.records += 1;
      last = await readAny(services, waiting.spool, tally, description, record);
    }
    if (description.records === 0) throw new DamagedCaptureFileError('The file holds no record.');
    await settle();
  } catch (error) {
    if (last && error instanceof DamagedCaptureFileError && error.spoilsLast) {
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

/** Reads a record of any type; gives back the one that holds a capture. */
async function readAny(
  services: ReadServices,
  spool: CaptureSpool,
  tally: Tally,
  description: FileDescription,
  record: WarcRecord,
): Promise<CaptureRecord | undefined> {
  if (!KEPT_TYPES.has(record.type) || isOfTheTool(record)) {
    if (record.type === 'continuation') tally.refuse('segmented');
    else tally.skipped += 1;
    if (record.type === 'request') await noteRequest(spool, record);
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

/** wget keeps its own log and arguments as resources at `metadata://`. */
function isOfTheTool(record: WarcRecord): boolean {
  return record.type === 'resource' && /^<?metadata:/i.test(record.field('warc-target-uri') ?? '');
}

/** Notes a request that was no GET: what answers it is not what the address shows. */
async function noteRequest(spool: CaptureSpool, record: WarcRecord): Promise<void> {
  let method = '';
  for await (const chunk of record.block) {
    method += Buffer.from(chunk).toString('latin1', 0, 16);
    if (method.length >= 16) break;
  }
  if (method.startsWith('GET ') || !/^[A-Z]+ /.test(method)) return;
  const ids = [record.field('warc-record-id') ?? '', ...record.fields('warc-concurrent-to')];
  for (const id of ids.map(stripAngleBrackets)) spool.addNotGet(id);
}

/** The named fields of a `warcinfo`, read as the head of a response that has none of its own. */
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

/** Lets a capture wait, and its bytes where they are not held already. */
async function add(
  services: ReadServices,
  { spool, room, large }: Waiting,
  tally: Tally,
  { payload, answer, ...read }: CaptureRecord,
): Promise<void> {
  if (payload && !(await keepWaiting(services, { spool, room, large }, payload)))
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

/** Whether there is room for the bytes, or none is needed. */
async function keepWaiting(
  { receiver, stage }: ReadServices,
  { spool, room, large }: Waiting,
  payload: Payload,
): Promise<boolean> {
  const { sha256, bytes, content } = payload;
  const isKnown = spool.hasObject(sha256) || large.has(sha256) || (await receiver.isStored(sha256));
  if (isKnown || !(await room.take(bytes))) {
    await discardPayload(payload);
    return isKnown;
  }
  stage.expect(sha256);
  if (Buffer.isBuffer(content)) spool.addObject(sha256, content);
  else large.set(sha256, content);
  return true;
}
