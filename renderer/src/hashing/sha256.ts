import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';

/** The SHA-256 of a value's canonical JSON in hex: a record's fingerprint or an entry's hash. */
export function canonicalSha256(value: unknown): string {
  return bytesToHex(sha256(utf8ToBytes(canonicalText(value))));
}

/**
 * The SHA-256 of a stream in hex, computed chunk by chunk so that memory use stays constant.
 * @throws the signal's reason when it is aborted.
 */
export async function hashStream(
  stream: ReadableStream<Uint8Array>,
  onProgress: (bytes: number) => void = () => {},
  signal?: AbortSignal,
): Promise<{ sha256: string; bytes: number }> {
  const hash = sha256.create();
  const reader = stream.getReader();
  let bytes = 0;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read();
      if (done) return { sha256: bytesToHex(hash.digest()), bytes };
      hash.update(value);
      bytes += value.length;
      onProgress(bytes);
    }
  } finally {
    reader.releaseLock();
  }
}
