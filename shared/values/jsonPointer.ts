/** Returns the JSON Pointer (RFC 6901) for the keys and indexes that lead to a value. An empty list is the document. */
export function jsonPointer(steps: readonly PropertyKey[]): string {
  return steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
