/** Makes whitespace visible if it is the whole change. */
export function visibleText(text: string): string {
  if (/\S/.test(text)) return text;
  return text.replaceAll(' ', '·').replaceAll('\t', '⇥').replaceAll('\n', '↵\n');
}
