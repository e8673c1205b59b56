import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { isMissing, isUnreadable } from '../../../store/blobs/blobStore.ts';
import { NotDerivableError } from '../notDerivable.ts';
import type { ObjectToRead } from '../process/tasks.ts';
import { decodeBody } from './decodeBody.ts';
import { type MediaKind, mediaKind } from './mediaKind.ts';

export interface DecodedBody {
  /** The decoded bytes, or the first ones of them. */
  bytes: Uint8Array;
  kind: MediaKind;
  /** Whether `bytes` is only the beginning. */
  isCut: boolean;
}

const READ_SIZE = 1_048_576;

/**
 * Reads and decodes an object's bytes for derivation. The whole file is hashed, so that nothing is derived from altered
 * bytes. Blocks its process; runs in the derive process only.
 *
 * @param maxBytes limit on the stored and on the decoded bytes. Larger objects are cut. Larger encoded objects are
 * refused, because a cut one cannot be distinguished from a damaged one.
 * @throws NotDerivableError `object_missing`, `object_damaged`, and what `decodeBody` throws.
 */
export function readBody(object: ObjectToRead, maxBytes: number): DecodedBody {
  const { bytes: stored, isCut } = object.bytes
    ? { bytes: object.bytes, isCut: object.bytes.length > maxBytes }
    : readVerified(object, maxBytes);
  const isEncoded = !/^\s*(identity)?\s*$/i.test(object.contentEncoding ?? '');
  if (isCut && isEncoded)
    throw new NotDerivableError('too_large', `The encoded object is larger than ${maxBytes} bytes.`);
  const bytes = isEncoded ? decodeBody(stored, object.contentEncoding, maxBytes) : stored;
  return { bytes, kind: mediaKind(object.contentType, bytes.subarray(0, 1024)), isCut };
}

function readVerified(object: ObjectToRead, maxBytes: number): { bytes: Uint8Array; isCut: boolean } {
  try {
    return readHashed(object, maxBytes);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    throw new NotDerivableError('object_damaged', 'The object’s stored bytes cannot be read.', error);
  }
}

function readHashed({ file, sha256 }: ObjectToRead, maxBytes: number): { bytes: Uint8Array; isCut: boolean } {
  const descriptor = openObject(file);
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.allocUnsafe(Math.min(size, maxBytes));
    const rest = Buffer.allocUnsafe(size > bytes.length ? READ_SIZE : 0);
    const hash = createHash('sha256');
    for (let at = 0; at < size; ) {
      const into = at < bytes.length ? bytes.subarray(at, at + READ_SIZE) : rest;
      const read = readSync(descriptor, into, 0, into.length, at);
      if (read === 0) break;
      hash.update(into.subarray(0, read));
      at += read;
    }
    if (hash.digest('hex') !== sha256)
      throw new NotDerivableError('object_damaged', 'The object’s stored bytes no longer match its digest.');
    return { bytes, isCut: size > bytes.length };
  } finally {
    closeSync(descriptor);
  }
}

function openObject(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    if (isMissing(error)) throw new NotDerivableError('object_missing', 'The object’s bytes are missing.');
    throw error;
  }
}
