import type { RetrievalError } from '../../../shared/source.ts';

/** Why an attempt gave no object, by its word. */
export class RetrievalFailure extends Error {
  readonly word: RetrievalError;

  constructor(word: RetrievalError, cause?: unknown) {
    super(word, cause === undefined ? undefined : { cause });
    this.name = 'RetrievalFailure';
    this.word = word;
  }
}

/** The code of a system, DNS, TLS or HTTP client error, or an empty text. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
