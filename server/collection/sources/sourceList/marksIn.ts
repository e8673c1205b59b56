/** How many marks there are, counted a little beyond `most`, and how many characters lie between two at most. */
export function marksIn(text: string, mark: string, most: number): { count: number; widest: number } {
  let [count, widest, before] = [0, 0, 0];
  while (count <= most) {
    const at = text.indexOf(mark, before);
    widest = Math.max(widest, (at === -1 ? text.length : at) - before);
    if (at === -1) break;
    count += 1;
    before = at + 1;
  }
  return { count, widest };
}
