import type { CaptureRefusal } from '../../../../shared/collection/captures.ts';
import type { StagedBlob, Staging } from '../../../store/blobs/staging.ts';
import type { CaptureSpool } from '../../../store/sqlite/collection/captures.ts';
import type { ObjectReceiver } from '../../record/objectReceiver.ts';
import { sourceIdOf } from '../../sources/sources.ts';
import {
  CaptureFileTooLargeError,
  type CaptureSpace,
  DamagedCaptureFileError,
  RefusedCaptureError,
  type Tally,
} from '../capture.ts';
import { decompress, gzipMembers, isGzip, type OpenBytes } from './decompress.ts';
import { discardPayload, type Payload, splitHead } from './httpMessage.ts';
import { type CaptureRecord, type RecordServices, readRecord, stripAngleBrackets } from './readRecord.ts';
import type { WarcRecord } from './readWarc.ts';
import type { SpooledRecord } from './revisits.ts';

/** Captures that were read from a file and are not recorded yet. */
export interface PendingCaptures {
  spool: CaptureSpool;
  space: CaptureSpace;
  /** Objects too large for the spool, by digest. */
  large: Map<string, StagedBlob>;
}

interface ReadServices extends RecordServices {
  receiver: Pick<ObjectReceiver, 'isStored'>;
  staging: Pick<Staging, 'stageFile'>;
  maxUnpackedBytes: number;
}

/** What a file states about itself. */
export interface FileDescription {
  /** The number of records that begin in the file. */
  records: number;
  /** The decompressed bytes that were read. */
  unpacked: number;
  /** The named fields of its first `warcinfo`, by their lowercase names. */
  info: Map<string, string>;
}

const MAX_INFO_BYTES = 65_536;
const KEPT_TYPES: ReadonlySet<string> = new Set(['response', 'resource', 'revisit']);

/** A file with more damaged records is not read further. */
const MAX_DAMAGED_RECORDS = 10_000;

/**
 * Reads all records of a WARC file and adds its captures to `pending`. Damage is counted. If each record is a gzip member
 * of its own, a damaged one is left out and reading goes on with the next member. Otherwise the captures before the
 * damage are kept: in an uncompressed file, what looks like the next record may be part of a captured page.
 *
 * @throws DamagedCaptureFileError if not even one record could be read; the signal's reason.
 */
export async function readWarcFile(
  services: ReadServices,
  pending: PendingCaptures,
  tally: Tally,
  open: OpenBytes,
  signal: AbortSignal,
): Promise<FileDescription> {
  const reading = new FileReading(services, pending, tally, signal);
  try {
    await reading.read(counted(decompress(open), reading.description), services.maxUnpackedBytes);
    if (reading.description.records === 0) throw new DamagedCaptureFileError('The file holds no record.');
  } catch (error) {
    if (!isEnd(error) || reading.description.records === 0) throw error;
    const canGoOn = error instanceof DamagedCaptureFileError && !error.endsFile && (await isGzip(open));
    if (!canGoOn || !(await reading.readMembers(open))) await reading.end(error);
  }
  return reading.description;
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  description: FileDescription,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    description.unpacked += chunk.length;
    yield chunk;
  }
}

/** A description stands at the beginning of a file, before the captures. */
const MAX_RECORDS_BEFORE_INFO = 5;

/**
 * Reads what a file states about itself, without its captures. A file that cannot be read states nothing here: the import
 * reports the damage.
 */
export async function readDescription(open: OpenBytes, maxBytes: number): Promise<FileDescription> {
  const { readWarc } = await import('./readWarc.ts');
  const description: FileDescription = { records: 0, unpacked: 0, info: new Map() };
  try {
    for await (const record of readWarc(decompress(open), maxBytes)) {
      description.records += 1;
      if (record.type === 'warcinfo') return { ...description, info: await readInfo(record) };
      if (description.records >= MAX_RECORDS_BEFORE_INFO) break;
    }
  } catch (error) {
    if (!isEnd(error)) throw error;
  }
  return description;
}

function isEnd(error: unknown): error is DamagedCaptureFileError | CaptureFileTooLargeError {
  return error instanceof DamagedCaptureFileError || error instanceof CaptureFileTooLargeError;
}

/** What a record brought, before it counts. */
type Outcome = { start: number } & (
  | { capture: CaptureRecord }
  | { refused: CaptureRefusal }
  | { skipped: true }
);

class FileReading {
  readonly description: FileDescription = { records: 0, unpacked: 0, info: new Map() };
  readonly #services: ReadServices;
  readonly #pending: PendingCaptures;
  readonly #tally: Tally;
  readonly #signal: AbortSignal;
  /** Counts once the next record begins: until then the gzip checksum may still show that the record is corrupt. */
  #last: Outcome | undefined;
  readonly #progress = { start: 0 };

  constructor(services: ReadServices, pending: PendingCaptures, tally: Tally, signal: AbortSignal) {
    this.#services = services;
    this.#pending = pending;
    this.#tally = tally;
    this.#signal = signal;
  }

  /** Reads records to the end. */
  async read(bytes: AsyncIterable<Uint8Array>, maxBytes: number, progress = this.#progress): Promise<void> {
    // Loads the WARC library with the first import.
    const { readWarc } = await import('./readWarc.ts');
    for await (const record of readWarc(bytes, maxBytes, progress)) {
      this.#signal.throwIfAborted();
      await this.#settle();
      this.description.records += 1;
      this.#last = { start: record.start, ...(await this.#readAny(record)) };
    }
    await this.#settle();
  }

  /**
   * Reads the damaged record and all after it again, each gzip member by itself.
   *
   * @returns false, and reads nothing, if the damaged record is not the beginning of a member, or none can be found.
   */
  async readMembers(open: OpenBytes): Promise<boolean> {
    const from = this.#progress.start;
    let hasBegun = false;
    let damaged = 0;
    try {
      for await (const { start, bytes } of gzipMembers(open, this.#services.maxUnpackedBytes, this.#signal)) {
        this.#signal.throwIfAborted();
        if (start < from) continue;
        if (!hasBegun && start !== from) return false;
        if (!hasBegun) await this.#forgetFrom(from);
        hasBegun = true;
        if (await this.#readMember(bytes, this.#services.maxUnpackedBytes - start)) continue;
        damaged += 1;
        if (damaged >= MAX_DAMAGED_RECORDS) return true;
      }
    } catch (error) {
      if (!isEnd(error)) throw error;
      // A member before the damage has a header that is not read here. The captures before the damage are kept.
      if (hasBegun) await this.end(error);
    }
    return hasBegun;
  }

  /** Returns whether the member is intact. */
  async #readMember(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<boolean> {
    try {
      await this.read(bytes, maxBytes, { start: 0 });
      return true;
    } catch (error) {
      if (!(error instanceof DamagedCaptureFileError)) throw error;
      await this.end(error);
      return false;
    }
  }

  /** Counts damage after the last record, or in it. */
  async end(error: DamagedCaptureFileError | CaptureFileTooLargeError): Promise<void> {
    if (error instanceof DamagedCaptureFileError && error.invalidatesLast) await this.#discardLast();
    await this.#settle();
    this.#tally.refuse(error instanceof CaptureFileTooLargeError ? 'file_too_large' : 'damaged');
  }

  /** Counts the last record, unless it is the one that is read again. */
  async #forgetFrom(start: number): Promise<void> {
    if (this.#last && this.#last.start >= start) {
      await this.#discardLast();
      this.description.records -= 1;
    } else await this.#settle();
  }

  async #discardLast(): Promise<void> {
    const last = this.#last;
    this.#last = undefined;
    if (last && 'capture' in last && last.capture.payload) await discardPayload(last.capture.payload);
  }

  async #settle(): Promise<void> {
    const last = this.#last;
    this.#last = undefined;
    if (!last) return;
    if ('capture' in last) await add(this.#services, this.#pending, this.#tally, last.capture);
    else if ('refused' in last) this.#tally.refuse(last.refused);
    else this.#tally.skipped += 1;
  }

  /** Reads a record of any type. */
  async #readAny(
    record: WarcRecord,
  ): Promise<{ capture: CaptureRecord } | { refused: CaptureRefusal } | { skipped: true }> {
    if (!KEPT_TYPES.has(record.type) || isWgetMetadata(record)) {
      if (record.type === 'continuation') return { refused: 'segmented' };
      if (record.type === 'request') await noteOtherMethod(this.#pending.spool, record);
      if (record.type === 'warcinfo' && this.description.info.size === 0)
        this.description.info = await readInfo(record);
      return { skipped: true };
    }
    try {
      return { capture: await readRecord(this.#services, record) };
    } catch (error) {
      if (!(error instanceof RefusedCaptureError)) throw error;
      return { refused: error.reason };
    }
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
  { receiver }: ReadServices,
  { spool, space, large }: PendingCaptures,
  payload: Payload,
): Promise<boolean> {
  const { sha256, bytes, content } = payload;
  const isKnown = spool.hasObject(sha256) || large.has(sha256) || (await receiver.isStored(sha256));
  if (isKnown || !space.reserve(bytes)) {
    await discardPayload(payload);
    return isKnown;
  }
  if (Buffer.isBuffer(content)) spool.addObject(sha256, content);
  else large.set(sha256, content);
  return true;
}
