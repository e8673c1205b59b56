import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { digestOfStream, writeVerified } from './fetchedStream.ts';
import { readWhole } from './readVerified.ts';
import { ATTEMPTS, codeOf, explain, statusOf } from './s3Errors.ts';
import { MIN_PART_BYTES, uploadInParts } from './s3Multipart.ts';
import type { CopyTarget, TargetFile } from './target.ts';

/** Where a bucket is, and who may write to it. */
export interface BucketAddress {
  bucket: string;
  /** The path within the bucket: empty, or ending with `/`. */
  prefix: string;
  /** The address of the store; that of AWS if undefined. */
  endpoint?: string | undefined;
  region?: string | undefined;
  /** Absent: the environment (`AWS_ACCESS_KEY_ID`, …) and the usual files. */
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
}

const CONNECTION_TIMEOUT_MS = 10_000;
/** A request is aborted if the store neither sends nor accepts data for this long. */
const SOCKET_TIMEOUT_MS = 60_000;

/** Opens a bucket of an S3-compatible object store as the target of a copy. Sends no request. */
export function openS3Target(address: BucketAddress): CopyTarget {
  const { bucket: Bucket, prefix, endpoint } = address;
  const name = `s3://${Bucket}/${prefix}`;
  const client = openClient(address);
  const explained = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw explain(error, { name, bucket: Bucket, endpoint });
    }
  };
  const read: CopyTarget['read'] = (path, signal, range) =>
    explained(() => readObject(client, { Bucket, Key: prefix + path }, { range, signal }));
  return {
    name,
    concurrency: 16,
    put: (path, payload, { type, signal }) =>
      explained(async () => {
        const object = { Bucket, Key: prefix + path, ContentType: type };
        if ('bytes' in payload) await putWhole(client, object, payload.bytes, signal);
        else if (payload.size > MIN_PART_BYTES) await uploadInParts(client, object, payload, signal);
        else await putWhole(client, object, await readWhole(payload), signal, payload.sha256);
      }),
    // An object store answers when the object is durable.
    settle: () => Promise.resolve(),
    read,
    digestOf: async (path, signal, onBytes) => {
      const stream = await read(path, signal);
      return stream && digestOfStream(stream, onBytes);
    },
    fetch: async (path, into, signal) => {
      const stream = await read(path, signal);
      return stream !== undefined && writeVerified(stream, into);
    },
    async *list(folder, signal): AsyncGenerator<TargetFile> {
      let token: string | undefined;
      do {
        const command = new ListObjectsV2Command({
          Bucket,
          Prefix: prefix + folder,
          ContinuationToken: token,
        });
        const page = await explained(() => client.send(command, { abortSignal: signal }));
        for (const { Key, Size } of page.Contents ?? [])
          if (Key !== undefined) yield { path: Key.slice(prefix.length), bytes: Size ?? 0 };
        token = page.IsTruncated ? page.NextContinuationToken : undefined;
      } while (token !== undefined);
    },
    remove: (path) =>
      explained(
        async () => void (await client.send(new DeleteObjectCommand({ Bucket, Key: prefix + path }))),
      ),
    close: () => client.destroy(),
  };
}

function openClient({ endpoint, region = 'us-east-1', credentials }: BucketAddress): S3Client {
  return new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(credentials && { credentials }),
    maxAttempts: ATTEMPTS,
    // Stores other than AWS refuse or ignore the newer checksums. Every object is checked by its digest anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECTION_TIMEOUT_MS, socketTimeout: SOCKET_TIMEOUT_MS },
  });
}

interface ReadOptions {
  /** Both ends are inclusive. */
  range: { start: number; end: number } | undefined;
  signal: AbortSignal | undefined;
}

/** Reads an object, or a range of it; undefined if it does not exist or ends before the range. */
async function readObject(
  client: S3Client,
  object: { Bucket: string; Key: string },
  { range, signal }: ReadOptions,
): Promise<Readable | undefined> {
  try {
    const command = new GetObjectCommand({
      ...object,
      Range: range && `bytes=${range.start}-${range.end}`,
    });
    const { Body } = await client.send(command, { abortSignal: signal });
    return Body as Readable | undefined;
  } catch (error) {
    // 416: the object is shorter than it was.
    if (error instanceof NoSuchKey || statusOf(error) === 416) return undefined;
    if (statusOf(error) === 404 && codeOf(error) !== 'NoSuchBucket') return undefined;
    throw error;
  }
}

/** The header with which a client states the digest of a body. If it is given, the client does not hash the body again. */
const DIGEST_HEADER = 'x-amz-content-sha256';

async function putWhole(
  client: S3Client,
  object: { Bucket: string; Key: string; ContentType: string },
  Body: Buffer,
  abortSignal: AbortSignal | undefined,
  sha256?: string,
): Promise<void> {
  const command = new PutObjectCommand({ ...object, Body, ContentLength: Body.length });
  if (sha256 !== undefined)
    command.middlewareStack.add(
      (next) => (args) => {
        const { headers } = args.request as { headers: Record<string, string> };
        headers[DIGEST_HEADER] = sha256;
        return next(args);
      },
      { step: 'build' },
    );
  await client.send(command, { abortSignal });
}
