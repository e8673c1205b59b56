import { S3ServiceException } from '@aws-sdk/client-s3';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { CopyError, DamagedSourceError } from './target.ts';

/** How often a request is tried. */
export const ATTEMPTS = 5;

/** Returns the HTTP status of an error of the store. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

/** Returns the S3 code of an error of the store. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof S3ServiceException ? error.name : undefined;
}

/** Returns an error that says what to do. Errors that say it already, and unknown ones, are returned unchanged. */
export function explain(
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
