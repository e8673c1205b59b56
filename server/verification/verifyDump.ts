import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { type Finding, finding } from './report.ts';

/** The trailer is one short line: counts and a digest. */
const MAX_TRAILER_BYTES = 65_536;
const HEAD_BYTES = 65_536;

/** Whether a file begins as a dump does. */
export function isDump(head: string): boolean {
  return /^\s*\{\s*"kind"\s*:\s*"header"/.test(head);
}

/** The first bytes of a file, as text. */
export async function headOf(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Verifies a dump by its last line, which holds the digest of all bytes before it. */
export async function verifyDump(file: string, tell: (bytes: number) => void): Promise<Finding> {
  const trailer = await trailerOf(file);
  if (!trailer) return finding(file, 'changed', { detail: 'the dump is cut short: it has no trailer' });
  const hash = createHash('sha256');
  const body = createReadStream(file, { end: trailer.start - 1, highWaterMark: 1_048_576 });
  for await (const chunk of body as AsyncIterable<Buffer>) {
    hash.update(chunk);
    tell(chunk.length);
  }
  const sha256 = hash.digest('hex');
  const state = sha256 === trailer.sha256 ? 'intact' : 'changed';
  return finding(file, state, { sha256, expected: trailer.sha256, against: 'its trailer' });
}

async function trailerOf(file: string): Promise<{ start: number; sha256: string } | undefined> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, MAX_TRAILER_BYTES);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    // The line feed that ends the trailer, where there is one, is not the one before it.
    const at = buffer.lastIndexOf(0x0a, length - 2);
    if (at < 0) return undefined;
    const sha256 = trailerDigest(buffer.toString('utf8', at + 1));
    return sha256 === undefined ? undefined : { start: size - length + at + 1, sha256 };
  } finally {
    await handle.close();
  }
}

function trailerDigest(text: string): string | undefined {
  try {
    const { kind, sha256 } = JSON.parse(text) as { kind?: unknown; sha256?: unknown };
    return kind === 'trailer' && typeof sha256 === 'string' ? sha256 : undefined;
  } catch {
    // A line that is no JSON is the end of a dump that was cut: its caller tells so.
    return undefined;
  }
}
