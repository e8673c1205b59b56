import { bytesToHex } from '@noble/hashes/utils.js';
import { hashStream } from '../../hashing/sha256.ts';

export interface VerifyRequest {
  id: number;
  file: File;
}

export type VerifyReply =
  | { id: number; bytes: number }
  | { id: number; sha256: string }
  | { id: number; error: string };

/** Smaller files are hashed at once by the browser's own SHA-256, where it offers one (a secure context). */
const SMALL_BYTES = 8_388_608;
const REPORT_EVERY_BYTES = 16_777_216;

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<VerifyRequest>) => void) | null;
  postMessage(reply: VerifyReply): void;
};

scope.onmessage = ({ data }) => void hashFile(data);

/** Replies once with the digest or an error, and before that with the bytes read of a large file. */
async function hashFile({ id, file }: VerifyRequest): Promise<void> {
  try {
    scope.postMessage({ id, sha256: await digestOf(id, file) });
  } catch (error) {
    const reason =
      error instanceof Error && error.name === 'ChangedError' ? error.message : 'The file could not be read.';
    scope.postMessage({ id, error: reason });
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
