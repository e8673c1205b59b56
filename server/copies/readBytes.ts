import { type CopyTarget, InvalidCopyError } from './targets/target.ts';

/**
 * Reads a small file of a copy into memory; undefined if there is none.
 *
 * @throws InvalidCopyError if it is larger than `maxBytes`
 */
export async function readBytes(
  target: CopyTarget,
  path: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const stream = await target.read(path);
  if (!stream) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new InvalidCopyError(`${path} in ${target.name} is larger than any that a node writes.`);
  }
  return Buffer.concat(chunks);
}
