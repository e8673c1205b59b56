/** Returns the index before a surrogate pair if this index is inside one; otherwise the index itself. */
export function characterStart(text: string, at: number): number {
  return /[\ud800-\udbff]/.test(text.charAt(at - 1)) ? at - 1 : at;
}

/** Truncates a text to a number of UTF-16 code units without splitting a surrogate pair. */
export function truncateText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : text.slice(0, characterStart(text, maxLength));
}
