import { createHash } from 'node:crypto';
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  type DeleteObjectsCommandOutput,
  GetBucketVersioningCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { CopyError } from './target.ts';

/** Returns the HTTP status of an error of the store. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

/** Returns the S3 code of an error of the store. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof S3ServiceException ? error.name : undefined;
}

/** An object of a bucket, or one version of it. */
interface Removed {
  Key: string;
  VersionId?: string | undefined;
}

/** S3 takes so many in one request. */
const AT_ONCE = 1_000;

/** What a store answers that does not know a request, or a header of it. */
const UNKNOWN: ReadonlySet<number | undefined> = new Set([400, 404, 405, 411, 501]);
/** And what one answers that knows it, but not for this access key. */
const REFUSED: ReadonlySet<number | undefined> = new Set([...UNKNOWN, 401, 403]);

/** Removes objects of a bucket and their older versions, as many as possible with one request. */
export class ObjectRemover {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  #takesMany = true;

  constructor(client: S3Client, { Bucket, prefix }: { Bucket: string; prefix: string }) {
    this.#client = client;
    this.#bucket = Bucket;
    this.#prefix = prefix;
  }

  /** @throws CopyError if the store keeps one; errors of the client */
  async remove(paths: readonly string[]): Promise<void> {
    await this.#removeAll(paths.map((path) => ({ Key: this.#prefix + path })));
  }

  /**
   * Removes every version of the objects but the newest one, and what marks the newest one as deleted. Returns whether
   * none is known to be left.
   */
  async removeOlderVersions(paths: readonly string[]): Promise<boolean> {
    if (paths.length === 0) return true;
    try {
      const { Status } = await this.#client.send(new GetBucketVersioningCommand({ Bucket: this.#bucket }));
      if (Status === undefined) return true;
      for (const path of paths) await this.#removeVersions(this.#prefix + path);
      return true;
    } catch (error) {
      // The access key may not do this, or the store does not know versions and does not say so.
      if (REFUSED.has(statusOf(error)) || error instanceof NotRemovedError) return false;
      throw error;
    }
  }

  async #removeVersions(Key: string): Promise<void> {
    let next: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } | undefined = {};
    const older: Removed[] = [];
    const markers: Removed[] = [];
    while (next) {
      const found: ListObjectVersionsCommandOutput = await this.#client.send(
        new ListObjectVersionsCommand({ Bucket: this.#bucket, Prefix: Key, ...next }),
      );
      for (const version of found.Versions ?? [])
        if (version.Key === Key && version.IsLatest !== true)
          older.push({ Key, VersionId: version.VersionId });
      for (const marker of found.DeleteMarkers ?? [])
        if (marker.Key === Key) markers.push({ Key, VersionId: marker.VersionId });
      // Keys are listed in their order: the next ones only begin with this one.
      const isOver = (found.NextKeyMarker ?? Key) !== Key || !found.IsTruncated;
      next = isOver
        ? undefined
        : { KeyMarker: found.NextKeyMarker, VersionIdMarker: found.NextVersionIdMarker };
    }
    await this.#removeAll(older);
    // A marker goes last: without it, an older version would be the newest one.
    await this.#removeAll(markers);
  }

  async #removeAll(objects: readonly Removed[]): Promise<void> {
    for (let first = 0; first < objects.length; first += AT_ONCE) {
      const batch = objects.slice(first, first + AT_ONCE);
      if (batch.length === 1 || !(await this.#removeMany(batch)))
        for (const object of batch)
          await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, ...object }));
    }
  }

  /** Returns false if the store does not know this request. @throws NotRemovedError */
  async #removeMany(batch: readonly Removed[]): Promise<boolean> {
    if (!this.#takesMany) return false;
    let answer: DeleteObjectsCommandOutput;
    try {
      answer = await this.#client.send(deleteObjects(this.#bucket, batch));
    } catch (error) {
      if (!UNKNOWN.has(statusOf(error)) || codeOf(error) === 'NoSuchBucket') throw error;
      this.#takesMany = false;
      return false;
    }
    const [first] = answer.Errors ?? [];
    if (first)
      throw new NotRemovedError(
        `The store did not remove ${answer.Errors?.length} of ${batch.length} files from s3://${this.#bucket}/${this.#prefix}, the first of them ${first.Key ?? 'unnamed'}: ${first.Code ?? 'no code'}${first.Message ? `, ${first.Message}` : ''}.`,
      );
    return true;
  }
}

/** The store took a request to remove files, and says of some that it did not remove them. */
class NotRemovedError extends CopyError {}

/** S3 requires a checksum of this request. Not every store knows the newer ones that the client would send. */
function deleteObjects(Bucket: string, objects: readonly Removed[]): DeleteObjectsCommand {
  const command = new DeleteObjectsCommand({ Bucket, Delete: { Objects: [...objects], Quiet: true } });
  command.middlewareStack.add(
    (next) => (args) => {
      const request = args.request as { headers: Record<string, string>; body: string };
      for (const name of Object.keys(request.headers))
        if (/^x-amz-(sdk-)?checksum-/i.test(name)) delete request.headers[name];
      request.headers['Content-MD5'] = createHash('md5').update(request.body).digest('base64');
      return next(args);
    },
    // After the client has added its own.
    { step: 'build', priority: 'low' },
  );
  return command;
}
