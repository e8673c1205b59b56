import type { Readable } from 'node:stream';
import type { Request } from 'express';
import {
  HANDED_IN_MEDIA_TYPES,
  type HandInFields,
  handInFieldsSchema,
  MAX_HANDED_IN_BYTES,
  MAX_PICTURE_BYTES,
} from '../../../shared/collection/handedIn.ts';
import { MEBIBYTE } from '../../../shared/limits.ts';
import { checkBody } from '../../../shared/values/checkBody.ts';
import {
  type HandedIn,
  type ReceivedFile,
  type ReceivedHandIn,
  tooLarge,
} from '../../collection/handedIn/handedIn.ts';
import { type FileInfo, FormParts, readForm, unreadableForm } from './multipart.ts';
import { requireMediaType } from './readJson.ts';
import { checkedBodyChunks } from './requestBody.ts';

/** What is said about a file has a few short fields. */
const MAX_FIELDS = 20;
const MAX_FIELD_BYTES = 65_536;
const MAX_FORM_BYTES = MAX_HANDED_IN_BYTES + MAX_PICTURE_BYTES + MEBIBYTE;

interface HandedInUpload {
  received: ReceivedHandIn;
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
    limits: { fields: MAX_FIELDS, fieldSize: MAX_FIELD_BYTES, files: 2, parts: MAX_FIELDS + 3 },
    tooManyFiles: () => unreadableForm('it has more than two files'),
    tooManyFields: () => unreadableForm('it has too many fields'),
  });
  return form.end(query);
}

/** The parts of one form. */
class HandedInForm extends FormParts {
  readonly #receiver: Pick<HandedIn, 'receive'>;
  readonly #fields = new Map<string, string>();
  readonly #received = new Map<string, ReceivedFile>();

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
    if (name !== 'file' && name !== 'picture')
      throw unreadableForm('the part of a file is not named “file” or “picture”');
    const maxBytes = name === 'file' ? MAX_HANDED_IN_BYTES : MAX_PICTURE_BYTES;
    const staged = await this.#receiver.receive(stream as AsyncIterable<Buffer>, maxBytes);
    const before = this.#received.get(name);
    this.#received.set(name, { staged, mediaType: mimeType, name: filename });
    await before?.staged.discard();
  }

  /** Waits for the files. Returns the upload, or discards it and throws the first failure. */
  async end(query: HandInFields): Promise<HandedInUpload> {
    await this.received();
    const file = this.#received.get('file');
    try {
      if (this.failure) throw this.failure;
      if (!file) throw unreadableForm('there is no part “file”');
      const given = checkBody(handInFieldsSchema, Object.fromEntries(this.#fields));
      return {
        received: { ...file, picture: this.#received.get('picture') },
        fields: { ...query, ...given },
      };
    } catch (error) {
      for (const { staged } of this.#received.values()) await staged.discard();
      throw error;
    }
  }
}
