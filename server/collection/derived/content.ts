import { promisify } from 'node:util';
import { deflateSync, inflate, inflateSync } from 'node:zlib';

/** Larger than the content of any derived document. */
const MAX_CONTENT_BYTES = 33_554_432;

/** Returns a document's content as it is stored: compressed JSON. Slow; runs in the derive process. */
export function compressContent(content: unknown): Uint8Array {
  return deflateSync(JSON.stringify(content));
}

/** Parses content written by `compressContent`. */
export function decompressContent<Content>(compressed: Uint8Array): Content {
  return JSON.parse(inflateSync(compressed, { maxOutputLength: MAX_CONTENT_BYTES }).toString()) as Content;
}

/** Returns the JSON text of content written by `compressContent`. Decompresses in the thread pool, as it may be long. */
export async function decompressJson(compressed: Uint8Array): Promise<string> {
  return (await promisify(inflate)(compressed, { maxOutputLength: MAX_CONTENT_BYTES })).toString();
}
