import { bytesToHex } from '@noble/hashes/utils.js';
import { hashStream } from '../../hashing/sha256.ts';

export interface VerifyRequest {
  id: number;
  /** Several small files, or one file of any size. */
  files: readonly File[];
}

export interface HashOutcome {
  sha256: string | null;
  /** Why the file could not be hashed. */
  error: string | null;
}

/** The bytes of a large file read so far, or the outcomes in the order of the files. */
export type VerifyReply = { id: number; bytes: number } | { id: number; outcomes: HashOutcome[] };

/** Smaller files are hashed at once by the browser's own SHA-256, where it offers one (a secure context). */
const SMALL_BYTES = 8_388_608;
const REPORT_EVERY_BYTES = 16_777_216;

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<VerifyRequest>) => void) | null;
  postMessage(reply: VerifyReply): void;
};

/** One batch at a time, so that memory stays flat. The files of a batch are read at the same time. */
let queue = Promise.resolve();

scope.onmessage = ({ data: { id, files } }) => {
  queue = queue.then(async () => {
    const outcomes = await Promise.all(files.map((file) => hashFile(id, file)));
    scope.postMessage({ id, outcomes });
  });
};

async function hashFile(id: number, file: File): Promise<HashOutcome> {
  try {
    return { sha256: await digestOf(id, file), error: null };
  } catch (error) {
    const reason =
      error instanceof Error && error.name === 'ChangedError' ? error.message : 'The file could not be read.';
    return { sha256: null, error: reason };
  }
}

async function digestOf(id: number, file: File): Promise<string> {
  // `subtle` is undefined on pages that are neither HTTPS nor on loopback.
  const subtle = globalThis.crypto.subtle as SubtleCrypto | undefined;
  if (file.size <= SMALL_BYTES && subtle)
    return bytesToHex(new Uint8Array(await subtle.digest('SHA-256', await file.arrayBuffer())));
  let reported = 0;
  const { sha256, bytes } = await hashStream(file.stream(), (done) => {
    if (done - reported < REPORT_EVERY_BYTES) return;
    reported = done;
    scope.postMessage({ id, bytes: done });
  });
  if (bytes !== file.size) throw new ChangedError();
  return sha256;
}

class ChangedError extends Error {
  constructor() {
    super('The file changed while it was being read.');
    this.name = 'ChangedError';
  }
}
