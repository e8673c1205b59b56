/** What texts have in common when case, accents and spacing are ignored: for sorting and for exact filters. */
export function foldedText(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replace(/\s+/gu, ' ').trim();
}
