import type { Readable } from 'node:stream';
import type { Request } from 'express';
import {
  HANDED_IN_MEDIA_TYPES,
  type HandInFields,
  handInFieldsSchema,
  MAX_HANDED_IN_BYTES,
} from '../../../shared/collection/handedIn.ts';
import { MEBIBYTE } from '../../../shared/limits.ts';
import { checkBody } from '../../../shared/values/checkBody.ts';
import { type HandedIn, type ReceivedFile, tooLarge } from '../../collection/handedIn/handedIn.ts';
import { type FileInfo, FormParts, readForm, unreadableForm } from './multipart.ts';
import { requireMediaType } from './readJson.ts';
import { checkedBodyChunks } from './requestBody.ts';

/** What is said about a file has a few short fields. */
const MAX_FIELDS = 20;
const MAX_FIELD_BYTES = 32_768;
const MAX_FORM_BYTES = MAX_HANDED_IN_BYTES + MEBIBYTE;

interface HandedInUpload {
  received: ReceivedFile;
  fields: HandInFields;
}

/**
 * Receives a file that is handed in, as the body or in a form, into a file of its own. What the form says comes before what
 * the query says.
 *
 * @throws Problem `unsupported_media_type`, `invalid_multipart`, `body_too_large`, `invalid_field`, `unknown_field`
 */
export async function readHandedInUpload(
  request: Request,
  receiver: Pick<HandedIn, 'receive'>,
  query: HandInFields,
): Promise<HandedInUpload> {
  const mediaType = requireMediaType(request, ['multipart/form-data', ...HANDED_IN_MEDIA_TYPES]);
  if (mediaType === 'multipart/form-data') return readHandedInForm(request, receiver, query);
  const body = checkedBodyChunks(request, MAX_HANDED_IN_BYTES, tooLarge);
  const staged = await receiver.receive(body);
  return {
    received: { staged, mediaType: request.headers['content-type'], name: undefined },
    fields: query,
  };
}

async function readHandedInForm(
  request: Request,
  receiver: Pick<HandedIn, 'receive'>,
  query: HandInFields,
): Promise<HandedInUpload> {
  const form = new HandedInForm(receiver);
  await readForm(request, form, {
    maxBytes: MAX_FORM_BYTES,
    tooLarge,
    limits: { fields: MAX_FIELDS, fieldSize: MAX_FIELD_BYTES, files: 1, parts: MAX_FIELDS + 2 },
    tooManyFiles: () => unreadableForm('it has more than one file'),
    tooManyFields: () => unreadableForm('it has too many fields'),
  });
  return form.end(query);
}

/** The parts of one form. */
class HandedInForm extends FormParts {
  readonly #receiver: Pick<HandedIn, 'receive'>;
  readonly #fields = new Map<string, string>();
  #received: ReceivedFile | undefined;

  constructor(receiver: Pick<HandedIn, 'receive'>) {
    super();
    this.#receiver = receiver;
  }

  receiveField(name: string | undefined, value: string, isTruncated: boolean): void {
    if (name === undefined || isTruncated) this.fail(unreadableForm('a field has no name or is too long'));
    else this.#fields.set(name, value);
  }

  protected async readFile(
    name: string | undefined,
    stream: Readable,
    { filename, mimeType }: FileInfo,
  ): Promise<void> {
    if (name !== 'file') throw unreadableForm('the part of the file is not named “file”');
    const staged = await this.#receiver.receive(stream as AsyncIterable<Buffer>);
    this.#received = { staged, mediaType: mimeType, name: filename };
  }

  /** Waits for the file. Returns the upload, or discards it and throws the first failure. */
  async end(query: HandInFields): Promise<HandedInUpload> {
    await this.received();
    const received = this.#received;
    try {
      if (this.failure) throw this.failure;
      if (!received) throw unreadableForm('there is no part “file”');
      const given = checkBody(handInFieldsSchema, Object.fromEntries(this.#fields));
      return { received, fields: { ...query, ...given } };
    } catch (error) {
      await received?.staged.discard();
      throw error;
    }
  }
}
