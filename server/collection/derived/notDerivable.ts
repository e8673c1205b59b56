/** Why nothing is derived from an object. */
export const NOT_DERIVABLE_REASONS = [
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

/** Said of this node's disk, which may pass; the other reasons are kept, until the tool's version changes. */
const MAY_PASS: ReadonlySet<string> = new Set<NotDerivableReason>(['object_missing', 'object_damaged']);

/** Whether an outcome is kept, so that it is not tried again. */
export function isKept(outcome: string): boolean {
  return !MAY_PASS.has(outcome);
}
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
