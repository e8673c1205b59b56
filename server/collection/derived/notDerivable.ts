/** Why nothing could be derived from an object. */
const NOT_DERIVABLE_REASONS = [
  'unsupported',
  'too_large',
  'damaged',
  'encrypted',
  'time_out',
  'out_of_memory',
  'tool_failed',
  'object_missing',
  'object_damaged',
] as const;

export type NotDerivableReason = (typeof NOT_DERIVABLE_REASONS)[number];

/** Reasons that concern this node's disk and may go away. The others hold until the tool's version changes. */
const TRANSIENT: ReadonlySet<string> = new Set<NotDerivableReason>(['object_missing', 'object_damaged']);

/** Returns whether an outcome is stored, so that the derivation is not tried again. */
export function isPermanent(outcome: string): boolean {
  return !TRANSIENT.has(outcome);
}

/** Nothing could be derived; the message is a sentence for the reader. */
export class NotDerivableError extends Error {
  readonly reason: NotDerivableReason;

  constructor(reason: NotDerivableReason, sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause });
    this.name = 'NotDerivableError';
    this.reason = reason;
  }
}
