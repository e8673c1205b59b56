import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { readVerified } from './readVerified.ts';
import type { StoredPayload } from './target.ts';

/** An object up to this size is sent with one request. */
export const MIN_PART_BYTES = 8 * 1_048_576;
/** S3 takes at most 10,000 parts. */
const MAX_PARTS = 10_000;
/** The parts in flight at once. Memory is bounded by this number of parts. */
const PARALLEL_PARTS = 3;

interface UploadedObject {
  Bucket: string;
  Key: string;
  ContentType: string;
}

/**
 * Uploads a file in parts while it is hashed. The upload is completed only if the bytes have their digest, and aborted
 * otherwise, so that no reader ever sees other bytes.
 *
 * @throws DamagedSourceError; errors of the client
 */
export async function uploadInParts(
  client: S3Client,
  { Bucket, Key, ContentType }: UploadedObject,
  payload: StoredPayload,
  abortSignal: AbortSignal | undefined,
): Promise<void> {
  const created = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ContentType }), {
    abortSignal,
  });
  const upload = { Bucket, Key, UploadId: created.UploadId };
  const abort = new AbortController();
  const signal = abortSignal ? AbortSignal.any([abortSignal, abort.signal]) : abort.signal;
  const parts: { PartNumber: number; ETag: string | undefined }[] = [];
  const inFlight = new Set<Promise<void>>();
  const send = async (PartNumber: number, Body: Buffer) => {
    const command = new UploadPartCommand({ ...upload, PartNumber, Body, ContentLength: Body.length });
    const { ETag } = await client.send(command, { abortSignal: signal });
    parts.push({ PartNumber, ETag });
  };
  try {
    let number = 0;
    for await (const part of inParts(readVerified(payload), partBytes(payload.size))) {
      number += 1;
      const sent = send(number, part).finally(() => inFlight.delete(sent));
      inFlight.add(sent);
      if (inFlight.size >= PARALLEL_PARTS) await Promise.race(inFlight);
    }
    await Promise.all(inFlight);
    parts.sort((left, right) => left.PartNumber - right.PartNumber);
    const command = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: parts } });
    await client.send(command, { abortSignal: signal });
  } catch (error) {
    abort.abort();
    await Promise.allSettled(inFlight);
    // If this fails too, the store keeps parts that no reader sees; the first error is the one to report.
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
}

/** The size of a part: at least 8 MiB, and more where the file would need more than 10,000 parts. */
function partBytes(size: number): number {
  return Math.max(MIN_PART_BYTES, Math.ceil(size / MAX_PARTS));
}

async function* inParts(chunks: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer> {
  let pending: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    pending.push(chunk);
    bytes += chunk.length;
    if (bytes < size) continue;
    const joined = Buffer.concat(pending);
    yield joined.subarray(0, size);
    pending = [joined.subarray(size)];
    bytes = joined.length - size;
  }
  if (bytes > 0) yield Buffer.concat(pending);
}
