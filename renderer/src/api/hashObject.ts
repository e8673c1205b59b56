import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { NodeUnreachable, readResponse } from './client.ts';

export interface HashedObject {
  sha256: string;
  bytes: number;
}

/**
 * Downloads an object and hashes it as a stream, so that memory use stays constant. Bypasses the HTTP cache:
 * the result must describe what the node stores now.
 * @throws ApiProblem, NodeUnreachable, or an AbortError when the signal is aborted.
 */
export async function hashObject(
  address: string,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (done: number, total: number | null) => void },
): Promise<HashedObject> {
  const response = await sendRequest(address, signal);
  if (!response.ok) await readResponse(response);
  const length = response.headers.get('Content-Length');
  const total = length === null ? null : Number(length);
  const hash = sha256.create();
  let bytes = 0;
  const reader = response.body?.getReader();
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    hash.update(read.value);
    bytes += read.value.byteLength;
    onProgress(bytes, total);
  }
  return { sha256: bytesToHex(hash.digest()), bytes };
}

async function sendRequest(address: string, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(address, { signal, cache: 'no-store' });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw new NodeUnreachable(cause);
  }
}
