import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { digestOfStream, writeVerified } from './fetchedStream.ts';
import { readWhole } from './readVerified.ts';
import { MIN_PART_BYTES, uploadInParts } from './s3Multipart.ts';
import { CopyError, type CopyTarget, DamagedSourceError, type TargetFile } from './target.ts';

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

const ATTEMPTS = 5;
const CONNECTION_TIMEOUT_MS = 10_000;
/** A request is aborted if the store neither sends nor accepts data for this long. */
const SOCKET_TIMEOUT_MS = 60_000;

/** Opens a bucket of an S3-compatible object store as the target of a copy. Sends no request. */
export function openS3Target(address: BucketAddress): CopyTarget {
  const { bucket: Bucket, prefix, endpoint, region = 'us-east-1', credentials } = address;
  const name = `s3://${Bucket}/${prefix}`;
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(credentials && { credentials }),
    maxAttempts: ATTEMPTS,
    // Stores other than AWS refuse or ignore the newer checksums. Every object is checked by its digest anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECTION_TIMEOUT_MS, socketTimeout: SOCKET_TIMEOUT_MS },
  });
  const explained = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw explain(error, { name, bucket: Bucket, endpoint });
    }
  };
  const read: CopyTarget['read'] = (path, signal, range) =>
    explained(async () => {
      try {
        const command = new GetObjectCommand({
          Bucket,
          Key: prefix + path,
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
    });
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

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof S3ServiceException ? error.name : undefined;
}

function explain(
  error: unknown,
  { name, bucket, endpoint }: { name: string; bucket: string; endpoint: string | undefined },
): unknown {
  if (error instanceof CopyError || error instanceof DamagedSourceError) return error;
  const cause = { cause: error };
  const code = codeOf(error) ?? errorCode(error) ?? (error instanceof Error ? error.name : undefined);
  const status = statusOf(error);
  if (code === 'AbortError') return error;
  if (code === 'NoSuchBucket') return new CopyError(`There is no bucket ${bucket}. Create it first.`, cause);
  if (code === 'CredentialsProviderError')
    return new CopyError(`No credentials for ${name} were found. Give an access key and its secret.`, cause);
  if (status === 401 || status === 403)
    return new CopyError(
      `The store refuses access to ${name}. Check the access key, its secret and its rights.`,
      cause,
    );
  if (status === 507 || code === 'QuotaExceeded' || code === 'EntityTooLarge')
    return new CopyError(`The store has no space for ${name}. Raise its quota.`, cause);
  if (status === 429 || status === 503 || code === 'SlowDown')
    return new CopyError(
      `The store is busy and refused ${ATTEMPTS} attempts to reach ${name}. Try again later.`,
      cause,
    );
  if (status !== undefined)
    return new CopyError(`The store answered ${status} (${code ?? 'no code'}) for ${name}.`, cause);
  if (code !== undefined && /^(E[A-Z]+|TimeoutError|.*Timeout)$/.test(code))
    return new CopyError(
      `The store at ${endpoint ?? 'AWS'} does not answer. Check its address and the network.`,
      cause,
    );
  return error;
}
