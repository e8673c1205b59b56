/**
 * Why nothing is derived from an object. `object_missing` and `object_damaged` say something of this node's disk and may
 * pass; the others are said of the object and the tool, and hold until the tool's version changes.
 */
export const NOT_DERIVABLE_REASONS = [
  'unsupported',
  'too_large',
  'damaged',
  'encrypted',
  'time_out',
  'out_of_memory',
  'object_missing',
  'object_damaged',
] as const;
export type NotDerivableReason = (typeof NOT_DERIVABLE_REASONS)[number];

/** Nothing could be derived; the message is a sentence for whoever asked. */
export class NotDerivableError extends Error {
  readonly reason: NotDerivableReason;

  constructor(reason: NotDerivableReason, sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause });
    this.name = 'NotDerivableError';
    this.reason = reason;
  }
}
