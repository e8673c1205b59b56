import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { create } from 'zustand';
import { readResponse, sendRequest, UnexpectedResponse, urlOf } from '../api/client.ts';
import type { Verified } from '../components/data/Values.tsx';
import { runLocalJob } from './jobs.ts';

/** The verification of an archived object in this browser: download, hash, compare. */
export type ObjectCheck =
  | { state: 'running'; done: number; total: number | null; cancel: () => void }
  | { state: 'done'; verified: Verified; actual: string; bytes: number }
  | { state: 'failed'; error: unknown };

interface ObjectChecks {
  /** By the object's digest. */
  checks: Record<string, ObjectCheck | undefined>;
  /** Never rejects: the outcome is in `checks`. */
  check: (sha256: string) => Promise<void>;
}

/** Results outlive the page that started them, so a verified digest is marked wherever it appears. */
export const useObjectChecks = create<ObjectChecks>()((set) => ({
  checks: {},
  check: async (sha256) => {
    const abort = new AbortController();
    const show = (check: ObjectCheck | undefined) =>
      set((state) => ({ checks: { ...state.checks, [sha256]: check } }));
    const cancel = () => abort.abort();
    show({ state: 'running', done: 0, total: null, cancel });
    try {
      const found = await runLocalJob(
        { title: `Hashing object ${sha256.slice(0, 8)}`, unit: 'bytes', abort },
        ({ signal, onProgress }) =>
          hashObject(`/archive/${sha256}`, {
            signal,
            onProgress: (done, total) => {
              onProgress(done, total);
              show({ state: 'running', done, total, cancel });
            },
          }),
      );
      const verified: Verified = {
        ok: found.sha256 === sha256,
        at: new Date().toISOString(),
        against: 'the bytes, hashed in this browser',
      };
      show({ state: 'done', verified, actual: found.sha256, bytes: found.bytes });
    } catch (error) {
      show(abort.signal.aborted ? undefined : { state: 'failed', error });
    }
  },
}));

/** This browser's result for a digest. */
export function useVerified(sha256: string): Verified | undefined {
  return useObjectChecks((state) => {
    const check = state.checks[sha256];
    return check?.state === 'done' ? check.verified : undefined;
  });
}

interface HashedObject {
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
  const response = await sendRequest(address, { signal, cache: 'no-store' });
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

/** The headers of an archived object. */
export interface ObjectHead {
  bytes: number | null;
  contentType: string | null;
  /** The usual file extension for the media type, with its dot. Empty if there is none. */
  extension: string;
}

const EXTENSIONS: Partial<Record<string, string>> = {
  'text/html': '.html',
  'text/plain': '.txt',
  'text/csv': '.csv',
  'text/xml': '.xml',
  'text/css': '.css',
  'application/json': '.json',
  'application/xml': '.xml',
  'application/rss+xml': '.xml',
  'application/atom+xml': '.xml',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'application/xhtml+xml': '.xhtml',
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/svg+xml': '.svg',
  'image/webp': '.webp',
};

/** Sends a HEAD request for an archived object. Throws ApiProblem or NodeUnreachable. */
export async function readObjectHead(sha256: string, signal?: AbortSignal): Promise<ObjectHead> {
  const address = urlOf('readObject', { params: { sha256 } });
  const response = await sendRequest(address, { method: 'HEAD', signal });
  if (!response.ok) await throwRefusal(address, signal);
  const length = response.headers.get('Content-Length');
  const contentType = response.headers.get('Content-Type');
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return { bytes: length === null ? null : Number(length), contentType, extension: EXTENSIONS[type] ?? '' };
}

/** A HEAD response has no body, so request one byte to get the error document. */
async function throwRefusal(address: string, signal?: AbortSignal): Promise<never> {
  const refused = await sendRequest(address, { signal, headers: { Range: 'bytes=0-0' } });
  await readResponse(refused);
  throw new UnexpectedResponse(refused.status);
}
