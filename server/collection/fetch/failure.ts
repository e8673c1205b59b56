import type { RetrievalError } from '../../../shared/collection/retrieval.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';

/** An attempt that yielded no object. `reason` is the error code that is recorded. */
export class RetrievalFailure extends Error {
  readonly reason: RetrievalError;

  constructor(reason: RetrievalError, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'RetrievalFailure';
    this.reason = reason;
  }
}

/** Returns the `code` of a system, DNS, TLS or HTTP client error, or an empty string. Of several errors, the first counts. */
export function networkErrorCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return networkErrorCode(error.errors[0]);
  return errorCode(error) ?? '';
}
