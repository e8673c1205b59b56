import type { RetrievalError } from '../../../shared/collection/source.ts';

/** An attempt that yielded no object. `reason` is the error code that is recorded. */
export class RetrievalFailure extends Error {
  readonly reason: RetrievalError;

  constructor(reason: RetrievalError, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'RetrievalFailure';
    this.reason = reason;
  }
}

/** Returns the `code` of a system, DNS, TLS or HTTP client error, or an empty string. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
