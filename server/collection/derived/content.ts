import { promisify } from 'node:util';
import { deflateSync, inflate, inflateSync } from 'node:zlib';

/** More than any document is kept with: what says otherwise was not written here. */
const MOST_BYTES = 33_554_432;

/** A document's content as it is kept: JSON, compressed. For the worker: compressing takes a while. */
export function compressContent(content: unknown): Uint8Array {
  return deflateSync(JSON.stringify(content));
}

/** Reads back what `compressContent` wrote. */
export function decompressContent<Content>(packed: Uint8Array): Content {
  return JSON.parse(inflateSync(packed, { maxOutputLength: MOST_BYTES }).toString()) as Content;
}

/** What `compressContent` wrote as the JSON that it is, for an answer: in the thread pool, as it may be long. */
export async function decompressJson(packed: Uint8Array): Promise<string> {
  return (await promisify(inflate)(packed, { maxOutputLength: MOST_BYTES })).toString();
}
