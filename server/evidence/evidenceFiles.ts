import { createHash } from 'node:crypto';
import { Problem } from '../../shared/problems.ts';
import type { EvidenceFile } from '../../shared/proof/evidence.ts';
import { isMissing, isUnreadable } from '../store/files.ts';
import type { Store } from '../store/store.ts';
import { type Reader, unreadable } from '../withholding/withholding.ts';

/** The bytes of all files together that an evidence file carries. Files beyond that are given by digest. */
const MAX_CONTENT_BYTES = 10_000_000;

/**
 * Adds the bytes to files, in their order, until the limit is reached. Missing and damaged bytes are left out, and those
 * that the reader may not read: they are given by their digest.
 */
export async function withContent(
  { blobs, read }: Pick<Store, 'blobs' | 'read'>,
  files: readonly Omit<EvidenceFile, 'content'>[],
  reader: Reader,
): Promise<EvidenceFile[]> {
  let room = MAX_CONTENT_BYTES;
  const filled: EvidenceFile[] = [];
  for (const file of files) {
    const fits = file.bytes <= room && !unreadable(read, file.sha256, reader);
    const content = fits ? await readIntact(blobs, file) : null;
    if (content !== null) room -= file.bytes;
    filled.push({ ...file, content });
  }
  return filled;
}

async function readIntact(
  blobs: Store['blobs'],
  { sha256, bytes }: { sha256: string; bytes: number },
): Promise<string | null> {
  try {
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of blobs.read(sha256)) {
      length += piece.length;
      if (length > bytes) return null;
      pieces.push(piece);
    }
    const content = Buffer.concat(pieces);
    return createHash('sha256').update(content).digest('hex') === sha256 ? content.toString('base64') : null;
  } catch (error) {
    // A Problem: the copy that holds them cannot be reached, or gave other bytes.
    if (isMissing(error) || isUnreadable(error) || error instanceof Problem) return null;
    throw error;
  }
}
