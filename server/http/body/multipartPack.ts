import type { Readable } from 'node:stream';
import busboy from 'busboy';
import type { Request } from 'express';
import mime from 'mime-types';
import pLimit from 'p-limit';
import { checkBody, parseJsonBytes } from '../../../shared/checkBody.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES, MAX_RECORD_BYTES, MEBIBYTE } from '../../../shared/limits.ts';
import { type PackFile, packUploadRecordSchema } from '../../../shared/pack.ts';
import { Problem } from '../../../shared/problems.ts';
import type { NewPack, StagedBlob } from '../../archive/packs/addPack.ts';
import { packTooLarge, recordTooLarge } from '../../archive/packs/record.ts';
import type { Store } from '../../store/store.ts';
import { readBytes } from './readJson.ts';
import { checkedBodyChunks } from './requestBody.ts';

/** The files of the largest pack, its record, and the lines that part 5,000 files with long paths. */
const MAX_BODY_BYTES = MAX_PACK_BYTES + MAX_RECORD_BYTES + 12 * MEBIBYTE;

/** Of a body that is announced to be longer, the record is checked as soon as it is there, before the rest is sent. */
const LONG_BODY_BYTES = MEBIBYTE;

/** Small files arrive many to a chunk; this many are written at once, the others wait where they are. */
const STAGED_AT_ONCE = 8;

/**
 * Reads a pack as multipart/form-data (RFC 7578): a part `record` with the JSON, and a part `files` for each file, its
 * whole path as file name. Memory stays flat whatever the size: files are staged as they stream in.
 *
 * @throws Problem 400 `invalid_multipart`; 413 `pack_too_large`, `body_too_large`; 422 for what the record breaks.
 */
export async function readMultipartPack(request: Request, { blobs }: Pick<Store, 'blobs'>): Promise<NewPack> {
  const isShort = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= LONG_BODY_BYTES;
  const parts = new PackParts(blobs, { checksRecordFirst: !isShort });
  const body = checkedBodyChunks(request, MAX_BODY_BYTES, packTooLarge);
  let parser: busboy.Busboy | undefined;
  try {
    parser = openParser(request);
    parser.on('field', (name, value, info) => parts.takeField(name, value, info.valueTruncated));
    parser.on('file', (name, stream, info) => parts.takeFile(name, stream, info.filename, info.mimeType));
    parser.on('filesLimit', () => parts.fail(tooManyFiles()));
    parser.on('fieldsLimit', () => parts.fail(unreadable('there are more fields than “record”')));
    await Promise.race([feed(parser, body), parts.failed]);
  } catch (error) {
    parts.fail(
      error instanceof Problem || request.readableAborted ? error : unreadable(reasonOf(error), error),
    );
    // Whoever reads a file of it is told, and what still comes is not parsed.
    parser?.destroy();
  }
  return parts.end();
}

/**
 * Gives a body to the parser as fast as it takes it; resolves when all of it is parsed. What `pipeline` sets up for each
 * stream to be ended costs as much as parsing a small pack.
 */
function feed(parser: busboy.Busboy, body: AsyncIterable<Buffer>): Promise<void> {
  return new Promise((resolve, reject) => {
    let goOn: (() => void) | undefined;
    const wake = () => goOn?.();
    parser.on('finish', resolve).on('error', reject).on('drain', wake).on('close', wake);
    const give = async () => {
      for await (const chunk of body) {
        if (parser.destroyed) return;
        if (parser.write(chunk) || parser.destroyed) continue;
        await new Promise<void>((taken) => {
          goOn = taken;
        });
      }
      parser.end();
    };
    give().catch(reject);
  });
}

function openParser(request: Request): busboy.Busboy {
  return busboy({
    headers: request.headers,
    preservePath: true,
    defParamCharset: 'utf8',
    // So that the bytes of the record come as they are, and not mended where they are no UTF-8.
    defCharset: 'base64',
    limits: { fields: 1, fieldSize: MAX_RECORD_BYTES + 1, files: MAX_PACK_FILES + 1 },
  });
}

/** What has arrived of one upload. The first failure ends it. */
class PackParts {
  readonly #blobs: Store['blobs'];
  readonly #checksRecordFirst: boolean;
  readonly #failed = Promise.withResolvers<never>();
  readonly #atOnce = pLimit(STAGED_AT_ONCE);
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
    // Whoever races it is told; nobody else needs to be.
    this.#failed.promise.catch(() => {});
  }

  /** Rejects at the first failure, also while the parser waits for a client that has gone quiet. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
    this.#failed.reject(this.#failure);
  }

  takeField(name: string | undefined, value: string, isTruncated: boolean): void {
    try {
      if (name !== 'record') throw unknownPart(name);
      if (isTruncated) throw recordTooLarge();
      this.#takeRecord(recordBytes(value));
    } catch (error) {
      this.fail(error);
    }
  }

  takeFile(
    name: string | undefined,
    stream: Readable,
    filename: string | undefined,
    mediaType: string,
  ): void {
    // A stream that waits for its turn may fail before anybody reads it; whoever reads it then is told.
    stream.on('error', () => {});
    if (this.#failure !== undefined) return void stream.destroy();
    const receive =
      name === 'record' ? this.#receiveRecord(stream) : this.#receiveFile(name, stream, filename, mediaType);
    this.#receiving.push(
      receive.catch((error: unknown) => {
        // What ended the stream ended the parser too, and whoever runs that knows why.
        if (error !== stream.errored) this.fail(error);
      }),
    );
  }

  async #receiveRecord(stream: Readable): Promise<void> {
    this.#takeRecord(await readBytes(stream, MAX_RECORD_BYTES));
  }

  #takeRecord(bytes: Uint8Array): void {
    if (this.#hasRecord) throw unreadable('there are two parts “record”');
    this.#hasRecord = true;
    this.#record = parseJsonBytes(bytes);
    // Checked in any case when its files are there.
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
    const blob = await this.#atOnce(() => this.#blobs.stage(this.#counted(stream), MAX_PACK_BYTES));
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

  /** Waits for what is being written; gives the upload, or discards all of it and throws. */
  async end(): Promise<NewPack> {
    await Promise.all(this.#receiving);
    if (this.#failure === undefined && !this.#hasRecord) this.fail(unreadable('there is no part “record”'));
    if (this.#failure !== undefined) {
      await Promise.all([...this.#staged.values(), ...this.#discarded].map((blob) => blob.discard()));
      throw this.#failure;
    }
    return { record: this.#recordWithFiles(), staged: this.#staged };
  }

  /** The record as it was sent; where it leaves `files` out, the parts stand for them. */
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

/** A field without a charset comes in base64, as `openParser` asks; one that names its charset comes decoded. */
function recordBytes(value: string): Uint8Array {
  if (!/^\s*[{[]/.test(value)) return Buffer.from(value, 'base64');
  if (value.includes('\ufffd')) {
    throw new Problem(
      'invalid_json',
      'The record is not valid in the charset that its part names. Send it as UTF-8 and name none.',
    );
  }
  return Buffer.from(value);
}

/** Clients that know no type say the general one, or nothing, which the parser reads as plain text. */
function mediaTypeOf(path: string, sent: string): string {
  if (sent !== 'application/octet-stream' && sent !== 'text/plain') return sent;
  return mime.lookup(path) || sent;
}

function unknownPart(name: string | undefined): Problem {
  const message = 'Send a part “record” and a part “files” for each file; no rule names this one.';
  return new Problem('unknown_field', message, { errors: [{ path: `/${name ?? ''}`, message }] });
}

function sentTwice(path: string): Problem {
  const message = `${path} is sent twice.`;
  return new Problem('invalid_field', message, { errors: [{ path: '/files', message }], members: { path } });
}

function tooManyFiles(): Problem {
  const message = `At most ${MAX_PACK_FILES} files are taken.`;
  return new Problem('invalid_field', message, { errors: [{ path: '/files', message }] });
}

function unreadable(reason: string, cause?: unknown): Problem {
  return new Problem('invalid_multipart', `The multipart body cannot be read: ${reason}.`, { cause });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : 'it ended early';
}
