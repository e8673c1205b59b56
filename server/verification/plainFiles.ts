import { basename } from 'node:path';
import type { ChecksumEntry } from '../../shared/values/checksums.ts';
import { isDigest } from '../../shared/values/digestPattern.ts';
import type { HashedFile } from '../hashing/hashFileSync.ts';
import type { ChecksumFile } from './checksumFile.ts';
import { hashFiles } from './hashFiles.ts';
import { lookUp, type ReferenceArchive } from './referenceArchive.ts';
import { type Finding, finding } from './report.ts';

/** A file to hash, and the expected result. */
export interface PlainFile {
  path: string;
  algorithms: readonly string[];
  /** The path in its finding, if it differs from `path`. */
  reportedPath?: string;
  bytes: number;
  expected?: string;
  against?: string;
  detail?: string | undefined;
}

/** What verification of any file needs. `read` and `found` are called with numbers of bytes. */
export interface VerifyContext {
  /** An archive in which every file is looked up. */
  holder: ReferenceArchive | undefined;
  read: (bytes: number) => void;
  found: (bytes: number) => void;
}

const SHA256 = ['sha256'];

/** Without a list entry, a file whose name is a digest, like a blob, must hash to its name. */
export function plainFile(
  path: string,
  bytes: number,
  entry?: ChecksumEntry,
  list?: ChecksumFile,
): PlainFile {
  const file = { path, bytes, algorithms: SHA256 };
  if (entry && list) return { ...file, expected: entry.sha256, against: list.file };
  const name = basename(path);
  return isDigest(name) ? { ...file, expected: name, against: 'its name' } : file;
}

/** Hashes files while the source still finds them, and yields their findings in batches, in the order of the files. */
export async function* plainFindings(
  source: Iterable<readonly PlainFile[]> | AsyncIterable<readonly PlainFile[]>,
  { holder, read, found }: VerifyContext,
): AsyncGenerator<Finding[]> {
  const files: PlainFile[] = [];
  async function* counted() {
    for await (const some of source) {
      for (const file of some) {
        files.push(file);
        found(file.bytes);
      }
      yield some;
    }
  }
  let index = 0;
  for await (const batch of hashFiles(counted(), read)) {
    const findings: Finding[] = [];
    for (const hashed of batch) {
      const file = files[index] as PlainFile;
      index += 1;
      const result = judged(file, hashed);
      findings.push(holder ? await lookUp(holder, result, file.bytes) : result);
    }
    yield findings;
  }
}

function judged(file: PlainFile, hashed: HashedFile): Finding {
  const { path, reportedPath = path, expected = null, against = null, detail = null } = file;
  if ('failure' in hashed) {
    const reason = `cannot be read: ${hashed.failure}`;
    return finding(reportedPath, 'unknown', { expected, against, detail: reason });
  }
  const sha256 = hashed.digests.sha256 ?? '';
  const state = expected === null ? 'unknown' : sha256 === expected ? 'intact' : 'changed';
  return { path: reportedPath, state, sha256, expected, against, detail };
}
