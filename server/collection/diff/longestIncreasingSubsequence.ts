/** Returns the numbers of a longest increasing subsequence. In a reordered list, the other elements were moved. */
export function longestIncreasingSubsequence(numbers: readonly number[]): Set<number> {
  const ends: number[] = [];
  const before = new Map<number, number | undefined>();
  for (const number of numbers) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] as number) < number) low = middle + 1;
      else high = middle;
    }
    before.set(number, ends[low - 1]);
    ends[low] = number;
  }
  const kept = new Set<number>();
  for (let last = ends.at(-1); last !== undefined; last = before.get(last)) kept.add(last);
  return kept;
}
