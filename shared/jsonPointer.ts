/** Writes a JSON Pointer (RFC 6901) from the steps that lead to a value; the empty list is the whole document. */
export function jsonPointer(steps: readonly PropertyKey[]): string {
  return steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
