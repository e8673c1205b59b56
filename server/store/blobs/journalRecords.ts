import { hash } from 'node:crypto';

/** A small blob in the journal. */
export interface JournaledBlob {
  sha256: string;
  bytes: Uint8Array;
}

const NEWLINE = 0x0a;
/** A digest, a space, the number of bytes, a newline. */
const HEAD = /^([0-9a-f]{64}) (\d{1,9})$/;
const MOST_HEAD_BYTES = 75;

/** Formats a blob for the journal: a line with its digest and its length, then its bytes. */
export function journalRecord({ sha256, bytes }: JournaledBlob): Uint8Array[] {
  return [Buffer.from(`${sha256} ${bytes.length}\n`, 'latin1'), bytes];
}

/**
 * Parses the blobs of a journal file, in order. Stops at the first one that is incomplete or does not match its digest:
 * it was being written when the machine stopped, and was never acknowledged.
 */
export function* parseJournal(file: Buffer): Generator<JournaledBlob> {
  for (let at = 0; at < file.length; ) {
    const end = file.subarray(at, at + MOST_HEAD_BYTES).indexOf(NEWLINE);
    const [, sha256 = '', length = ''] = HEAD.exec(file.toString('latin1', at, at + Math.max(0, end))) ?? [];
    const from = at + end + 1;
    at = from + Number(length);
    const bytes = file.subarray(from, at);
    if (sha256 === '' || at > file.length || hash('sha256', bytes, 'hex') !== sha256) return;
    yield { sha256, bytes };
  }
}
