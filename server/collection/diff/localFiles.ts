import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import mime from 'mime-types';
import type { Comparison, FileDiff } from '../../../shared/collection/diff.ts';
import { EVERYTHING } from '../../../shared/collection/noise.ts';
import { type Clock, systemClock } from '../../../shared/values/clock.ts';
import { mediaKind } from '../derived/mediaKind.ts';
import type { Deriver } from '../derived/process/deriver.ts';
import { decompressContent } from '../derived/process/tasks.ts';
import { compareInProcess, DIFF_TOOL } from './diffs.ts';

/**
 * Compares two files that are not in the archive, as what their names say that they are.
 *
 * @throws NotDerivableError if one of them changes meanwhile; the error of the file system
 */
export async function compareLocalFiles(
  deriver: Deriver,
  [from, to]: readonly [string, string],
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<FileDiff> {
  const sides = [await sideOf(from), await sideOf(to)] as const;
  const read = (file: string, { sha256, content_type }: (typeof sides)[number]) => ({
    sha256,
    file,
    contentType: content_type,
    contentEncoding: null,
  });
  const { content } = await compareInProcess(
    deriver,
    { from: read(from, sides[0]), to: read(to, sides[1]), scope: EVERYTHING },
    sides.map(({ bytes }) => bytes),
  );
  const { noise: _noise, ...comparison } = decompressContent<Comparison>(content);
  const made_at = new Date(clock.now()).toISOString();
  return { from: sides[0], to: sides[1], made_at, tool: DIFF_TOOL, ...comparison } as FileDiff;
}

async function sideOf(file: string): Promise<FileDiff['from']> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: hash.digest('hex'), bytes, content_type: typeOf(file) };
}

/** A name that says nothing helpful leaves it to the first bytes: `.ts` is the name of films too. */
function typeOf(file: string): string | null {
  const type = mime.lookup(file);
  return type === false || mediaKind(type, new Uint8Array()) === 'other' ? null : type;
}
