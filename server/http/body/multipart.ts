import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import busboy from 'busboy';
import type { Request } from 'express';
import { Problem } from '../../../shared/problems.ts';
import { checkedBodyChunks } from './requestBody.ts';

/** How a form is read (RFC 7578). */
interface FormOptions {
  maxBytes: number;
  tooLarge: () => Problem;
  limits: busboy.Limits;
  tooManyFiles: () => Problem;
  tooManyFields: () => Problem;
  /** Further options of the parser. */
  parser?: Pick<busboy.BusboyConfig, 'preservePath' | 'defCharset'>;
}

/** What the head of a file's part says. */
export interface FileInfo {
  filename: string | undefined;
  mimeType: string;
}

/** More parts than are received at once, so that none waits for the parser. */
const MAX_UNENDED_PARTS = 16;

/** The parts of one form that have arrived. The first failure ends the form. */
export abstract class FormParts {
  readonly #failed = Promise.withResolvers<never>();
  readonly #receiving: Promise<void>[] = [];
  #unended = 0;
  #wake: (() => void) | undefined;
  #failure: Error | undefined;

  constructor() {
    // Handled by `readForm`. This avoids an unhandled rejection.
    this.#failed.promise.catch(() => {});
  }

  /** Rejects at the first failure, even while the parser waits for a silent client. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The number of parts that have begun. */
  get count(): number {
    return this.#receiving.length;
  }

  fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
    this.#failed.reject(this.#failure);
  }

  abstract receiveField(name: string | undefined, value: string, isTruncated: boolean): void;

  receiveFile(name: string | undefined, stream: Readable, info: FileInfo): void {
    // The stream may fail before its turn to be read. Its reader gets the error then.
    stream.on('error', () => {});
    if (this.#failure !== undefined) return void stream.destroy();
    this.receiving(this.readFile(name, stream, info), stream);
  }

  protected abstract readFile(name: string | undefined, stream: Readable, info: FileInfo): Promise<void>;

  /** Notes a part that is being received. */
  protected receiving(part: Promise<void>, stream?: Readable): void {
    this.#unended += 1;
    this.#receiving.push(
      part
        .catch((error: unknown) => {
          // An error of the stream itself is also an error of the parser, which reports it.
          if (error !== stream?.errored) this.fail(error);
        })
        .finally(() => {
          this.#unended -= 1;
          this.#wake?.();
        }),
    );
  }

  /** Waits while many parts are not received. The parser would read further small files into memory without an end. */
  async hasRoom(): Promise<void> {
    while (this.#unended >= MAX_UNENDED_PARTS && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Waits for all parts. */
  protected async received(): Promise<void> {
    await Promise.all(this.#receiving);
  }
}

/** Parses a form into its parts. A failure is that of the parts, which the caller ends in any case. */
export async function readForm(
  request: Request,
  form: FormParts,
  { maxBytes, tooLarge, limits, tooManyFiles, tooManyFields, parser: options }: FormOptions,
): Promise<void> {
  const body = checkedBodyChunks(request, maxBytes, tooLarge);
  let parser: busboy.Busboy | undefined;
  try {
    parser = busboy({ headers: request.headers, defParamCharset: 'utf8', limits, ...options });
    parser.on('field', (name, value, info) => form.receiveField(name, value, info.valueTruncated));
    parser.on('file', (name, stream, info) => form.receiveFile(name, stream, info));
    parser.on('filesLimit', () => form.fail(tooManyFiles()));
    parser.on('fieldsLimit', () => form.fail(tooManyFields()));
    await Promise.race([feed(parser, body, form), form.failed]);
  } catch (error) {
    form.fail(
      error instanceof Problem || request.readableAborted ? error : unreadableForm(reasonOf(error), error),
    );
    // Readers of the parser's file streams get the error, and the rest of the body is not parsed.
    parser?.destroy();
  }
}

/** A chunk can begin hundreds of parts, which would be read in one go. So it is parsed in pieces of this size. */
const PIECE_BYTES = 16_384;
/** After a piece with this many parts, other requests have their turn. */
const MANY_PARTS = 8;

/**
 * Writes a body to the parser with back-pressure. Resolves when all of it is parsed. `pipeline` is not used because its
 * setup costs as much as parsing a small pack.
 */
function feed(parser: busboy.Busboy, body: AsyncIterable<Buffer>, form: FormParts): Promise<void> {
  return new Promise((resolve, reject) => {
    let resume: (() => void) | undefined;
    const wake = () => resume?.();
    parser.on('finish', resolve).on('error', reject).on('drain', wake).on('close', wake);
    const writeAll = async () => {
      for await (const chunk of body) {
        for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
          if (parser.destroyed) return;
          const before = form.count;
          parser.write(chunk.subarray(start, start + PIECE_BYTES));
          if (form.count - before >= MANY_PARTS) await setImmediate();
          await form.hasRoom();
          if (!parser.writableNeedDrain || parser.destroyed) continue;
          await new Promise<void>((drained) => {
            resume = drained;
          });
        }
      }
      parser.end();
    };
    writeAll().catch(reject);
  });
}

export function unreadableForm(reason: string, cause?: unknown): Problem {
  return new Problem('invalid_multipart', `The multipart body cannot be read: ${reason}.`, { cause });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : 'it ended early';
}
