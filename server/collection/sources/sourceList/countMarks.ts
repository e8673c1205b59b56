/**
 * Counts the occurrences of a character and the longest distance between two of them, in characters. Stops as soon as
 * the count exceeds `max`.
 */
export function countMarks(text: string, mark: string, max: number): { count: number; longest: number } {
  let [count, longest, start] = [0, 0, 0];
  while (count <= max) {
    const at = text.indexOf(mark, start);
    longest = Math.max(longest, (at === -1 ? text.length : at) - start);
    if (at === -1) break;
    count += 1;
    start = at + 1;
  }
  return { count, longest };
}
