import { createHash } from 'node:crypto';
import { isDigest } from '../../shared/values/digestPattern.ts';
import { splitLines } from '../dump/dumpFile.ts';
import { LEFT_OUT } from './copyPaths.ts';
import type { CopyTarget } from './targets/target.ts';

/** The objects that a copy says it does not have, because they are withheld, and the digest of the file that says so. */
export interface LeftOut {
  digests: ReadonlySet<string>;
  sha256: string;
}

/** Reads which withheld objects a copy does not have; undefined if it does not say. Whether that is signed is not checked. */
export async function readLeftOut(target: CopyTarget, signal?: AbortSignal): Promise<LeftOut | undefined> {
  const stream = await target.read(LEFT_OUT, signal);
  if (!stream) return undefined;
  const hash = createHash('sha256');
  async function* hashed() {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const digests = new Set<string>();
  for await (const line of splitLines(hashed())) {
    const text = line.toString('latin1');
    if (isDigest(text)) digests.add(text);
  }
  return { digests, sha256: hash.digest('hex') };
}
