import type { Readable } from 'node:stream';
import type { Request } from 'express';
import mime from 'mime-types';
import pLimit from 'p-limit';
import type { PackFile } from '../../../shared/archive/pack.ts';
import {
  MAX_JSON_VALUES,
  MAX_PACK_BYTES,
  MAX_PACK_FILES,
  MAX_RECORD_BYTES,
  MEBIBYTE,
} from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { discardAll, type NewPack, type StagedBlob } from '../../archive/packs/addPack.ts';
import {
  type CheckedRecord,
  checkInThread,
  packTooLarge,
  recordTooLarge,
} from '../../archive/packs/checkRecord.ts';
import { packFileTooLarge, stagePackFile } from '../../archive/packs/file/readPackFile.ts';
import type { Store } from '../../store/store.ts';
import { type FileInfo, FormParts, readForm, unreadableForm } from './multipart.ts';
import { readJsonText, requireMediaType, requireUtf8 } from './readJson.ts';
import { checkedBodyChunks } from './requestBody.ts';

/** The files of the largest pack, its record, and the part headers of 5,000 files with long paths. */
const MAX_BODY_BYTES = MAX_PACK_BYTES + MAX_RECORD_BYTES + 12 * MEBIBYTE;

/** If a body is longer, its record is checked as soon as it has arrived, before the rest of the body. */
const LONG_BODY_BYTES = MEBIBYTE;

/** The number of files written at once. A chunk can contain many small files; the others wait in memory. */
const MAX_CONCURRENT_FILES = 8;

/**
 * Reads a pack sent as multipart/form-data (RFC 7578): a part `record` with the JSON, and a part `files` for each file,
 * with its full path as the file name. Files are staged while they arrive, so memory use does not depend on their size.
 *
 * @throws Problem 400 `invalid_multipart`; 413 `pack_too_large`, `body_too_large`; 422 for an invalid record.
 */
async function readMultipartPack(request: Request, { blobs }: Pick<Store, 'blobs'>): Promise<NewPack> {
  const isShort = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= LONG_BODY_BYTES;
  const parts = new PackParts(blobs, { checksRecordFirst: !isShort });
  await readForm(request, parts, {
    maxBytes: MAX_BODY_BYTES,
    tooLarge: packTooLarge,
    limits: { fields: 1, fieldSize: MAX_RECORD_BYTES + 1, files: MAX_PACK_FILES + 1 },
    tooManyFiles,
    tooManyFields: () => unreadableForm('there are more fields than “record”'),
    // Delivers the bytes of the record unchanged. Decoding would replace invalid UTF-8.
    parser: { preservePath: true, defCharset: 'base64' },
  });
  return parts.end();
}

/** The parts of one upload of a pack. */
class PackParts extends FormParts {
  readonly #blobs: Store['blobs'];
  readonly #checksRecordFirst: boolean;
  readonly #atOnce = pLimit(MAX_CONCURRENT_FILES);
  readonly #staged = new Map<string, StagedBlob>();
  readonly #discarded: StagedBlob[] = [];
  /** By path, in the order of the parts. */
  readonly #mediaTypes = new Map<string, string>();
  #record: Uint8Array | undefined;
  /** The record after it was checked; undefined before that, and if it omits its files. */
  #checked: CheckedRecord | undefined;
  #bytes = 0;

  constructor(blobs: Store['blobs'], { checksRecordFirst }: { checksRecordFirst: boolean }) {
    super();
    this.#blobs = blobs;
    this.#checksRecordFirst = checksRecordFirst;
  }

  receiveField(name: string | undefined, value: string, isTruncated: boolean): void {
    try {
      if (name !== 'record') throw unknownPart(name);
      if (isTruncated) throw recordTooLarge();
      this.receiving(this.#setRecord(recordBytes(value)));
    } catch (error) {
      this.fail(error);
    }
  }

  protected readFile(
    name: string | undefined,
    stream: Readable,
    { filename, mimeType }: FileInfo,
  ): Promise<void> {
    return name === 'record'
      ? this.#receiveRecord(stream)
      : this.#receiveFile(name, stream, filename, mimeType);
  }

  async #receiveRecord(stream: Readable): Promise<void> {
    await this.#setRecord(await readJsonText(stream, MAX_RECORD_BYTES, MAX_JSON_VALUES));
  }

  async #setRecord(bytes: Uint8Array): Promise<void> {
    if (this.#record !== undefined) throw unreadableForm('there are two parts “record”');
    this.#record = bytes;
    if (this.#checksRecordFirst) this.#checked = await checkInThread(bytes);
  }

  async #receiveFile(
    name: string | undefined,
    stream: Readable,
    path: string | undefined,
    mediaType: string,
  ): Promise<void> {
    if (name !== 'files') throw unknownPart(name);
    if (path === undefined) throw unreadableForm('a part “files” has no file name');
    if (path.includes('\ufffd'))
      throw new Problem('invalid_name_encoding', 'A file name is not valid UTF-8.');
    if (this.#mediaTypes.has(path)) throw sentTwice(path);
    if (this.#mediaTypes.size === MAX_PACK_FILES) throw tooManyFiles();
    this.#mediaTypes.set(path, mediaTypeOf(path, mediaType));
    const blob = await this.#atOnce(() => this.#blobs.staging.stage(this.#counted(stream), MAX_PACK_BYTES));
    if (this.failure !== undefined) this.#discarded.push(blob);
    else this.#staged.set(path, blob);
  }

  async *#counted(stream: Readable): AsyncGenerator<Buffer> {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      this.#bytes += chunk.length;
      if (this.#bytes > MAX_PACK_BYTES) throw packTooLarge();
      yield chunk;
    }
  }

  /** Waits for pending writes. Returns the upload, or discards everything and throws the first failure. */
  async end(): Promise<NewPack> {
    await this.received();
    if (this.failure === undefined && this.#record === undefined) {
      this.fail(unreadableForm('there is no part “record”'));
    }
    try {
      if (this.failure !== undefined) throw this.failure;
      return { checked: await this.#checkRecord(this.#record as Uint8Array), staged: this.#staged };
    } catch (error) {
      await discardAll([...this.#staged.values(), ...this.#discarded]);
      throw error;
    }
  }

  /** Checks the record. If it omits `files`, they are derived from the parts. */
  async #checkRecord(record: Uint8Array): Promise<CheckedRecord> {
    const files = [...this.#mediaTypes].map(([path, media_type]): PackFile => {
      const { sha256, bytes } = this.#staged.get(path) as StagedBlob;
      return { path, sha256, bytes, media_type };
    });
    return this.#checked ?? checkInThread(record, files);
  }
}

/** Returns the bytes of a field. Without a charset it is base64 (see `openParser`), otherwise it is already decoded. */
function recordBytes(value: string): Uint8Array {
  if (!/^\s*[{[]/.test(value)) return Buffer.from(value, 'base64');
  if (value.includes('\ufffd')) {
    throw new Problem(
      'invalid_json',
      'The record is not valid in the charset of its part. Send it as UTF-8 without a charset.',
    );
  }
  return Buffer.from(value);
}

/** Guesses the type from the path if the client sent the generic type, or none, which the parser reports as plain text. */
function mediaTypeOf(path: string, sent: string): string {
  if (sent !== 'application/octet-stream' && sent !== 'text/plain') return sent;
  return mime.lookup(path) || sent;
}

function unknownPart(name: string | undefined): Problem {
  const message = 'This part is unknown. Send one part “record”, and one part “files” for each file.';
  return new Problem('unknown_field', message, { errors: [{ path: `/${name ?? ''}`, message }] });
}

function sentTwice(path: string): Problem {
  const message = `${path} was sent twice.`;
  return new Problem('invalid_field', message, { errors: [{ path: '/files', message }], members: { path } });
}

function tooManyFiles(): Problem {
  const message = `A pack can have at most ${MAX_PACK_FILES} files.`;
  return new Problem('invalid_field', message, { errors: [{ path: '/files', message }] });
}

/** Reads one kind of upload. Its files are staged, and discarded if it fails. */
type PackReader = (request: Request, store: Pick<Store, 'blobs'>) => Promise<NewPack>;

const READERS: Record<string, PackReader> = {
  'application/json': readJsonPack,
  'multipart/form-data': readMultipartPack,
  'application/zip': readZippedPack,
};

/**
 * Reads an upload of a pack of any kind. The caller passes the result to `addPack`, which discards the files that it
 * does not keep.
 *
 * @throws Problem `unsupported_media_type`, and the problems of each kind.
 */
export function readPackUpload(request: Request, store: Pick<Store, 'blobs'>): Promise<NewPack> {
  const mediaType = requireMediaType(request, Object.keys(READERS));
  return (READERS[mediaType] as PackReader)(request, store);
}

/** Reads a record whose files are already in the archive. */
async function readJsonPack(request: Request): Promise<NewPack> {
  requireUtf8(request);
  const body = checkedBodyChunks(request, MAX_RECORD_BYTES, recordTooLarge);
  return { checked: await checkInThread(await readJsonText(body, MAX_RECORD_BYTES, MAX_JSON_VALUES), []) };
}

/** Reads a pack file: a bag in a ZIP, or a plain ZIP. */
function readZippedPack(request: Request, { blobs }: Pick<Store, 'blobs'>): Promise<NewPack> {
  return stagePackFile(blobs, checkedBodyChunks(request, MAX_PACK_BYTES, packFileTooLarge));
}
