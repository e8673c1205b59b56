import type { Readable } from 'node:stream';
import busboy from 'busboy';
import type { Request } from 'express';
import mime from 'mime-types';
import pLimit from 'p-limit';
import { type PackFile, packUploadRecordSchema } from '../../../shared/archive/pack.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES, MAX_RECORD_BYTES, MEBIBYTE } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { checkBody, parseJsonBytes } from '../../../shared/values/checkBody.ts';
import type { NewPack, StagedBlob } from '../../archive/packs/addPack.ts';
import { packTooLarge, recordTooLarge } from '../../archive/packs/record.ts';
import type { Store } from '../../store/store.ts';
import { readBytes } from './readJson.ts';
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
export async function readMultipartPack(request: Request, { blobs }: Pick<Store, 'blobs'>): Promise<NewPack> {
  const isShort = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= LONG_BODY_BYTES;
  const parts = new PackParts(blobs, { checksRecordFirst: !isShort });
  const body = checkedBodyChunks(request, MAX_BODY_BYTES, packTooLarge);
  let parser: busboy.Busboy | undefined;
  try {
    parser = openParser(request);
    parser.on('field', (name, value, info) => parts.receiveField(name, value, info.valueTruncated));
    parser.on('file', (name, stream, info) => parts.receivePart(name, stream, info.filename, info.mimeType));
    parser.on('filesLimit', () => parts.fail(tooManyFiles()));
    parser.on('fieldsLimit', () => parts.fail(unreadable('there are more fields than “record”')));
    await Promise.race([feed(parser, body), parts.failed]);
  } catch (error) {
    parts.fail(
      error instanceof Problem || request.readableAborted ? error : unreadable(reasonOf(error), error),
    );
    // Readers of the parser's file streams get the error, and the rest of the body is not parsed.
    parser?.destroy();
  }
  return parts.end();
}

/**
 * Writes a body to the parser with back-pressure. Resolves when all of it is parsed. `pipeline` is not used because its
 * setup costs as much as parsing a small pack.
 */
function feed(parser: busboy.Busboy, body: AsyncIterable<Buffer>): Promise<void> {
  return new Promise((resolve, reject) => {
    let resume: (() => void) | undefined;
    const wake = () => resume?.();
    parser.on('finish', resolve).on('error', reject).on('drain', wake).on('close', wake);
    const writeAll = async () => {
      for await (const chunk of body) {
        if (parser.destroyed) return;
        if (parser.write(chunk) || parser.destroyed) continue;
        await new Promise<void>((drained) => {
          resume = drained;
        });
      }
      parser.end();
    };
    writeAll().catch(reject);
  });
}

function openParser(request: Request): busboy.Busboy {
  return busboy({
    headers: request.headers,
    preservePath: true,
    defParamCharset: 'utf8',
    // Delivers the bytes of the record unchanged. Decoding would replace invalid UTF-8.
    defCharset: 'base64',
    limits: { fields: 1, fieldSize: MAX_RECORD_BYTES + 1, files: MAX_PACK_FILES + 1 },
  });
}

/** The parts of one upload that have arrived. The first failure ends the upload. */
class PackParts {
  readonly #blobs: Store['blobs'];
  readonly #checksRecordFirst: boolean;
  readonly #failed = Promise.withResolvers<never>();
  readonly #atOnce = pLimit(MAX_CONCURRENT_FILES);
  readonly #receiving: Promise<void>[] = [];
  readonly #staged = new Map<string, StagedBlob>();
  readonly #discarded: StagedBlob[] = [];
  /** By path, in the order of the parts. */
  readonly #mediaTypes = new Map<string, string>();
  #record: unknown;
  #hasRecord = false;
  #bytes = 0;
  #failure: Error | undefined;

  constructor(blobs: Store['blobs'], { checksRecordFirst }: { checksRecordFirst: boolean }) {
    this.#blobs = blobs;
    this.#checksRecordFirst = checksRecordFirst;
    // Handled by the caller of `failed`. This avoids an unhandled rejection.
    this.#failed.promise.catch(() => {});
  }

  /** Rejects at the first failure, even while the parser waits for a silent client. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
    this.#failed.reject(this.#failure);
  }

  receiveField(name: string | undefined, value: string, isTruncated: boolean): void {
    try {
      if (name !== 'record') throw unknownPart(name);
      if (isTruncated) throw recordTooLarge();
      this.#setRecord(recordBytes(value));
    } catch (error) {
      this.fail(error);
    }
  }

  receivePart(
    name: string | undefined,
    stream: Readable,
    filename: string | undefined,
    mediaType: string,
  ): void {
    // The stream may fail before its turn to be read. Its reader gets the error then.
    stream.on('error', () => {});
    if (this.#failure !== undefined) return void stream.destroy();
    const receive =
      name === 'record' ? this.#receiveRecord(stream) : this.#receiveFile(name, stream, filename, mediaType);
    this.#receiving.push(
      receive.catch((error: unknown) => {
        // An error of the stream itself is also an error of the parser, which reports it.
        if (error !== stream.errored) this.fail(error);
      }),
    );
  }

  async #receiveRecord(stream: Readable): Promise<void> {
    this.#setRecord(await readBytes(stream, MAX_RECORD_BYTES));
  }

  #setRecord(bytes: Uint8Array): void {
    if (this.#hasRecord) throw unreadable('there are two parts “record”');
    this.#hasRecord = true;
    this.#record = parseJsonBytes(bytes);
    // In any case it is checked again after all files have arrived.
    if (this.#checksRecordFirst) checkBody(packUploadRecordSchema, this.#record);
  }

  async #receiveFile(
    name: string | undefined,
    stream: Readable,
    path: string | undefined,
    mediaType: string,
  ): Promise<void> {
    if (name !== 'files') throw unknownPart(name);
    if (path === undefined) throw unreadable('a part “files” has no file name');
    if (path.includes('\ufffd'))
      throw new Problem('invalid_name_encoding', 'A file name is not valid UTF-8.');
    if (this.#mediaTypes.has(path)) throw sentTwice(path);
    this.#mediaTypes.set(path, mediaTypeOf(path, mediaType));
    const blob = await this.#atOnce(() => this.#blobs.staging.stage(this.#counted(stream), MAX_PACK_BYTES));
    if (this.#failure !== undefined) this.#discarded.push(blob);
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
    await Promise.all(this.#receiving);
    if (this.#failure === undefined && !this.#hasRecord) this.fail(unreadable('there is no part “record”'));
    if (this.#failure !== undefined) {
      await Promise.all([...this.#staged.values(), ...this.#discarded].map((blob) => blob.discard()));
      throw this.#failure;
    }
    return { record: this.#recordWithFiles(), staged: this.#staged };
  }

  /** Returns the record as sent. If it omits `files`, they are derived from the parts. */
  #recordWithFiles(): unknown {
    const record = this.#record;
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return record;
    if (Object.hasOwn(record, 'files')) return record;
    const files = [...this.#mediaTypes].map(([path, media_type]): PackFile => {
      const { sha256, bytes } = this.#staged.get(path) as StagedBlob;
      return { path, sha256, bytes, media_type };
    });
    return { ...record, files };
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

function unreadable(reason: string, cause?: unknown): Problem {
  return new Problem('invalid_multipart', `The multipart body cannot be read: ${reason}.`, { cause });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : 'it ended early';
}
