/** Authors on one line: `Ada Lovelace, Alan Turing and 3 more`. */
export function authorsLine(authors: readonly { name: string }[], shown = 2): string {
  const names = authors.slice(0, shown).map((author) => author.name);
  const more = authors.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}
