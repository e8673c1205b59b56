import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { codeOf, ObjectRemover, statusOf } from './s3Removal.ts';
import {
  CopyError,
  type RawTarget,
  readVerified,
  readWhole,
  type StoredPayload,
  type TargetFile,
} from './target.ts';

/** Where a bucket is, and who may write to it. */
interface BucketAddress {
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

/** Opens a bucket of an S3-compatible object store as the place of a copy. Sends no request. */
export function openBucket(address: BucketAddress): RawTarget {
  const { bucket: Bucket, prefix, endpoint } = address;
  const name = `s3://${Bucket}/${prefix}`;
  const client = openClient(address);
  const remover = new ObjectRemover(client, { Bucket, prefix });
  return {
    name,
    isFolder: false,
    concurrency: 16,
    sentenceOf: (error) => sentenceOfBucket(error, { name, bucket: Bucket, endpoint }),
    put: async (path, payload, { type, signal }) => {
      const object = { Bucket, Key: prefix + path, ContentType: type };
      if ('bytes' in payload) await putWhole(client, object, payload.bytes, signal);
      else if (payload.size > MIN_PART_BYTES) await uploadInParts(client, object, payload, signal);
      else await putWhole(client, object, await readWhole(payload), signal, payload.sha256);
    },
    // An object store answers when the object is durable.
    flush: () => Promise.resolve(),
    read: (path, signal, range) => readObject(client, { Bucket, Key: prefix + path }, { range, signal }),
    async *list(folder, signal): AsyncGenerator<TargetFile> {
      let token: string | undefined;
      do {
        const command = new ListObjectsV2Command({
          Bucket,
          Prefix: prefix + folder,
          ContinuationToken: token,
        });
        const page = await client.send(command, { abortSignal: signal });
        for (const { Key, Size } of page.Contents ?? [])
          if (Key !== undefined) yield { path: Key.slice(prefix.length), bytes: Size ?? 0 };
        token = page.IsTruncated ? page.NextContinuationToken : undefined;
      } while (token !== undefined);
    },
    remove: (paths) => remover.remove(paths),
    purge: async (paths) => {
      await remover.remove(paths);
      return remover.removeOlderVersions(paths);
    },
    forgetVersions: (paths) => remover.removeOlderVersions(paths),
    close: async () => client.destroy(),
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

/** An object up to this size is sent with one request. */
const MIN_PART_BYTES = 8 * 1_048_576;
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
 * Uploads a file in parts while it is hashed. The upload is completed only if the bytes have their digest and the store
 * took every part, and aborted otherwise, so that no reader ever sees other bytes. Afterwards the store is asked for the
 * size of what it holds.
 *
 * @throws DamagedSourceError; CopyError if the store holds another size; errors of the client
 */
async function uploadInParts(
  client: S3Client,
  object: UploadedObject,
  payload: StoredPayload,
  signal: AbortSignal | undefined,
): Promise<void> {
  const upload = new Upload({
    client: abortable(client, signal),
    // The length lets the uploader count the parts before it completes the object.
    params: { ...object, Body: bodyOf(payload, signal), ContentLength: payload.size },
    queueSize: PARALLEL_PARTS,
    partSize: Math.max(MIN_PART_BYTES, Math.ceil(payload.size / MAX_PARTS)),
  });
  await upload.done();
  const { Bucket, Key } = object;
  const { ContentLength } = await client.send(new HeadObjectCommand({ Bucket, Key }), {
    abortSignal: signal,
  });
  if (ContentLength !== payload.size)
    throw new CopyError(
      `The store holds ${ContentLength ?? 'an unknown number of'} bytes of an object of ${payload.size} bytes (${Key}). Sync again.`,
    );
}

function bodyOf(payload: StoredPayload, signal: AbortSignal | undefined): Readable {
  async function* chunks() {
    for await (const chunk of readVerified(payload)) {
      signal?.throwIfAborted();
      yield chunk;
    }
  }
  return Readable.from(chunks(), { objectMode: false });
}

/**
 * The client as the uploader uses it: the parts end with the signal. The uploader's own way to abort rejects before the
 * parts in flight have ended, and leaves them in the store.
 */
function abortable(client: S3Client, abortSignal: AbortSignal | undefined): S3Client {
  const send: S3Client['send'] = (command: Parameters<S3Client['send']>[0]) => {
    if (command instanceof UploadPartCommand) return client.send(command, { abortSignal });
    // If this fails, the store keeps parts that no reader sees; the first error is the one to report.
    if (command instanceof AbortMultipartUploadCommand) return client.send(command).catch(() => undefined);
    return client.send(command);
  };
  return Object.create(client, { send: { value: send } }) as S3Client;
}

/** How often a request is tried. */
const ATTEMPTS = 5;

/** The name that the store, the system or the SDK gives an error. */
function nameOf(error: unknown): string | undefined {
  return codeOf(error) ?? errorCode(error) ?? (error instanceof Error ? error.name : undefined);
}

/** Returns what to do about an error; undefined if it is not known. */
function sentenceOfBucket(
  error: unknown,
  { name, bucket, endpoint }: { name: string; bucket: string; endpoint: string | undefined },
): string | undefined {
  const code = nameOf(error);
  const status = statusOf(error);
  if (code === 'NoSuchBucket') return `There is no bucket ${bucket}. Create it first.`;
  if (code === 'CredentialsProviderError')
    return `No credentials for ${name} were found. Give an access key and its secret.`;
  if (status === 401 || status === 403)
    return `The store refuses access to ${name}. Check the access key, its secret and its permissions.`;
  if (status === 507 || code === 'QuotaExceeded' || code === 'EntityTooLarge')
    return `The store has no space for ${name}. Raise its quota.`;
  if (status === 429 || status === 503 || code === 'SlowDown')
    return `The store is busy and refused ${ATTEMPTS} attempts to reach ${name}. Try again later.`;
  if (status !== undefined) return `The store answered ${status} (${code ?? 'no code'}) for ${name}.`;
  if (code !== undefined && /^(E[A-Z]+|TimeoutError|.*Timeout)$/.test(code))
    return `The store of ${name} at ${endpoint ?? 'AWS'} does not answer. Check its address and the network.`;
  return undefined;
}
